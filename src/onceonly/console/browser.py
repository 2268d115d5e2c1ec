"""What a browser sends and keeps: cookies, forms, and whether a form is ours."""

from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from onceonly.console.rendering import ROOT
from onceonly.message.word import Word

SESSION: Final = "onceonly-session"
"""The cookie with the name of a session."""
VISITOR: Final = "onceonly-visitor"
"""The cookie to which form tokens are bound; everybody has one, signed in or not. It is another one
than `SESSION`, since a link from another site brings neither (SameSite), and what is then set must
not end a session."""
SCHEME: Final = "onceonly-scheme"
"""The cookie with the colours that were chosen."""
SCHEMES: Final = ("auto", "light", "dark")

FORM_BYTES_MAX: Final = 1 << 16
"""Longest form: a reason, a key and two identifiers."""
FIELDS_MAX: Final = 20
LIVE: Final = "x-onceonly-live"
"""Header by which the script says that nobody asked: the page keeps itself up to date."""


class BadForm(Exception):  # noqa: N818 - because it is a condition of the request
    """The form is not one of our pages' own; the text says why."""


class PostedForm(Word, kw_only=True):
    """The fields of a form."""

    fields: dict[str, str]
    """Of a field that comes several times, the values with blanks between them."""

    def get(self, name: str) -> str:
        """A field; empty if it is missing."""
        return self.fields.get(name, "")


async def read_form(request: Request) -> PostedForm:
    """The form of a request, from a page of ours as far as its `Origin` says. Raises `BadForm`."""
    if not is_same_origin(request):
        raise BadForm("The form comes from a page of another site.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > FORM_BYTES_MAX:
            raise BadForm("The form is too long.")
    try:
        text = body.decode()
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX)
    except ValueError as error:
        raise BadForm("The form cannot be read.") from error
    fields: dict[str, str] = {}
    for name, value in pairs:
        fields[name] = f"{fields[name]} {value}" if name in fields else value
    return PostedForm(fields=fields)


def is_same_origin(request: Request) -> bool:
    """Whether the page that posts has the name by which we are called.

    Every browser of today says it in `Origin`; whoever lacks it still brings the form's token.
    """
    origins = request.headers.getlist("origin")
    if not origins:
        return request.headers.get("sec-fetch-site") in (None, "same-origin", "none")
    return len(origins) == 1 and urlsplit(origins[0]).netloc == request.headers.get("host")


def keep(request: Request, response: Response, name: str, value: str, *, for_s: int | None) -> None:
    """Let the browser keep a cookie that no script reads and no other site sends."""
    response.set_cookie(
        name,
        value,
        max_age=for_s,
        path=ROOT,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def scheme_of(request: Request) -> str:
    """The colours that were chosen."""
    chosen = request.cookies.get(SCHEME, "")
    return chosen if chosen in SCHEMES else SCHEMES[0]
