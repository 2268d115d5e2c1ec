"""The console as an ASGI application: addresses, sign-in, forms, and what every answer has.

Nothing is done by a GET. A form brings a token that is bound to a cookie, and its `Origin` must be
the name by which we are called. Every page asks the API first, which judges `Host` and key: so a
name that somebody else bound to our address (DNS rebinding) gets no page at all.
"""

import secrets
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from onceonly import __version__
from onceonly.api import inbox_operations, operations
from onceonly.api.event_operations import LIST_EVENTS
from onceonly.api.events import EventsQuery
from onceonly.api.keys import CERTIFICATE
from onceonly.api.operating import Pings
from onceonly.api.refusals import Refusal
from onceonly.api.report_operations import GET_REPORT
from onceonly.api.watching import GET_SENT_PAYLOAD
from onceonly.console.assets import Assets
from onceonly.console.browser import (
    LIVE,
    SCHEME,
    SCHEMES,
    SESSION,
    VISITOR,
    BadForm,
    PostedForm,
    keep,
    read_form,
    scheme_of,
)
from onceonly.console.calls import NOTHING, ApiRefused, Application, Calls, OnBehalf
from onceonly.console.columns import COLUMNS
from onceonly.console.deeds import DEEDS, SUBJECTS, Deed
from onceonly.console.exports import exported
from onceonly.console.page import Elsewhere, Shown, Visit
from onceonly.console.pages import (
    agreements,
    bulks,
    certificates,
    doubts,
    exceptions,
    inbox,
    jobs,
    journal,
    keys,
    message,
    messages,
    overview,
    partners,
    reports,
    system,
    trouble,
)
from onceonly.console.query_line import LineError
from onceonly.console.rendering import ROOT, environment, url
from onceonly.console.sessions import LIFETIME_S, Sessions
from onceonly.message.printable import printable

HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'",
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""Of every page. `same-origin` and not `no-referrer`, under which a browser's forms say
`Origin: null`."""

PAGES: Final[Mapping[str, Callable[[Visit], Awaitable[Shown]]]] = {
    "": overview.overview,
    "messages": messages.messages,
    "message": message.message,
    "doubts": doubts.doubts,
    "partners": partners.partners,
    "partner": partners.partner,
    "agreements": agreements.agreements,
    "agreement": agreements.agreement,
    "certificates": certificates.certificates,
    "inbox": inbox.inbox,
    "item": inbox.item,
    "trouble": trouble.trouble,
    "exceptions": exceptions.exceptions,
    "bulks": bulks.bulks,
    "bulk": bulks.bulk,
    "new-bulk": bulks.new_bulk,
    "jobs": jobs.jobs,
    "job": jobs.job,
    "journal": journal.journal,
    "audit": journal.audit,
    "reports": reports.reports,
    "keys": keys.keys,
    "system": system.system,
}
NAVIGATION: Final = (
    ("", "Overview"),
    ("messages", "Messages"),
    ("doubts", "In doubt"),
    ("inbox", "Inbox"),
    ("partners", "Partners"),
    ("agreements", "Agreements"),
    ("trouble", "Trouble"),
    ("exceptions", "Exceptions"),
    ("bulks", "Bulk actions"),
    ("jobs", "Jobs"),
    ("journal", "Journal"),
    ("reports", "Reports"),
    ("certificates", "Certificates"),
    ("keys", "Keys"),
    ("system", "System"),
)
PARENTS: Final = {
    "agreement": "agreements",
    "audit": "journal",
    "bulk": "bulks",
    "new-bulk": "messages",
    "message": "messages",
    "partner": "partners",
    "item": "inbox",
    "job": "jobs",
}
RETURNS: Final = {
    "message": ("message", "id"),
    "partner": ("partner", "partner"),
    "item": ("item", "offset"),
    "job": ("job", "job"),
    "key": ("keys", "on"),
    "gateway": ("system", "on"),
}
"""The page of each subject of a deed, and the name under which its query has it."""

VISITOR_S: Final = 31_536_000

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403


def beside(api: Application, console: Application) -> Application:
    """Both at one address: the console below `/console/`, to which `/` sends a browser."""

    async def front(scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if path == ROOT or path.startswith(f"{ROOT}/"):
            await console(scope, receive, send)
        elif scope["type"] == "http" and path == "/" and _is_browser(scope):
            await RedirectResponse(f"{ROOT}/", 303, HEADERS)(scope, receive, send)
        else:
            await api(scope, receive, send)

    return front


def _is_browser(scope: Any) -> bool:
    accepted = [value for name, value in scope["headers"] if name == b"accept"]
    return scope["method"] == "GET" and any(b"text/html" in value for value in accepted)


class Console:
    """All pages over one API. `now` is the gateway's wall clock; `on_bug` is told of our bugs."""

    def __init__(
        self,
        api: Application,
        *,
        now: Callable[[], datetime],
        on_bug: Callable[[str, Exception], None],
    ) -> None:
        self._api = api
        self._now = now
        self._on_bug = on_bug
        self._assets = Assets()
        self._templates = environment()
        self._templates.globals["asset"] = lambda name: url(
            f"static/{name}", v=self._assets.digest(name)
        )
        self._sessions = Sessions(
            secret=secrets.token_bytes(32),
            now_s=time.monotonic,
            fresh=lambda: secrets.token_urlsafe(32),
        )

    def application(self) -> Application:
        """The ASGI application, which expects paths below `/console`."""
        both = ["GET", "POST"]
        routes = [
            Route(ROOT, self._to_root),
            Route(f"{ROOT}/static/{{name}}", self._asset),
            Route(f"{ROOT}/sign-in", self._sign_in, methods=both),
            Route(f"{ROOT}/sign-out", self._sign_out, methods=["POST"]),
            Route(f"{ROOT}/colours", self._choose_colours, methods=["POST"]),
            Route(f"{ROOT}/do/{{name}}", self._do, methods=both),
            Route(f"{ROOT}/bulk-{{name}}", self._act_on_many, methods=["POST"]),
            Route(f"{ROOT}/new-key", self._make_key, methods=["POST"]),
            Route(f"{ROOT}/export", self._export),
            Route(f"{ROOT}/payload", self._payload),
            Route(f"{ROOT}/report", self._report),
            Route(f"{ROOT}/events", self._events),
            *(Route(f"{ROOT}/{path}", self._shown(path)) for path in PAGES),
        ]
        handlers: dict[Any, Any] = {
            ApiRefused: self._on_refused,
            BadForm: self._on_bad_form,
            LineError: self._on_line_error,
            HTTPException: self._on_http_exception,
            Exception: self._on_exception,
        }
        application = Starlette(routes=routes, exception_handlers=handlers)
        application.router.redirect_slashes = False
        return application

    def _shown(self, path: str) -> Callable[[Request], Awaitable[Response]]:
        async def shown(request: Request) -> Response:
            try:
                page = await PAGES[path](self._visit(request))
            except Elsewhere as elsewhere:
                return RedirectResponse(elsewhere.url, 303, HEADERS)
            done = DEEDS.get(request.query_params.get("done", ""))
            return await self._rendered(
                request, page, {"here": PARENTS.get(path, path), "done": done}
            )

        return shown

    def _visit(self, request: Request) -> Visit:
        given = request.query_params
        query = dict(given.multi_items())
        if COLUMNS in query:
            # A form has one of them for each box.
            query[COLUMNS] = ",".join(given.getlist(COLUMNS))
        return Visit(calls=self._calls(request), query=query, now=self._now())

    def _calls(
        self,
        request: Request,
        key: str | None = None,
        reason: str | None = None,
        *,
        is_use: bool = True,
    ) -> Calls:
        is_used = is_use and LIVE not in request.headers
        session = self._sessions.find(request.cookies.get(SESSION), is_use=is_used)
        caller = OnBehalf(
            host=request.headers.get("host", "").encode("latin-1"),
            scheme=request.url.scheme,
            client=None if request.client is None else (request.client.host, request.client.port),
            key=session.key if session is not None and key is None else key,
            certificate=request.scope.get(CERTIFICATE),
            reason=reason,
        )
        return Calls(self._api, caller)

    async def _rendered(
        self, request: Request, page: Shown, more: Mapping[str, Any] | None = None
    ) -> Response:
        """The page in its frame. Raises `ApiRefused` where `Host` is none of ours."""
        health = await self._calls(request).ask(operations.GET_HEALTH, NOTHING, NOTHING)
        visitor = request.cookies.get(VISITOR)
        kept = visitor or secrets.token_urlsafe(32)
        session = self._sessions.find(request.cookies.get(SESSION), is_use=False)
        values = {
            "here": None,
            "done": None,
            "page_": page,
            "navigation": NAVIGATION,
            "health_": health,
            "version": __version__,
            "now": self._now(),
            "scheme": scheme_of(request),
            "schemes": SCHEMES,
            "form_token": self._sessions.form_token(kept),
            "is_signed_in": session is not None,
            "address": _address(request),
            **page.values,
            **(more or {}),
        }
        text = self._templates.get_template(page.template).render(values)
        response = Response(text, page.status, HEADERS, "text/html; charset=utf-8")
        if visitor is None:
            keep(request, response, VISITOR, kept, for_s=VISITOR_S)
        return response

    async def _checked_form(self, request: Request) -> PostedForm:
        """The form of a page of ours. Raises `BadForm`, and `ApiRefused` for a foreign `Host`."""
        await self._calls(request).ask(operations.GET_HEALTH, NOTHING, NOTHING)
        form = await read_form(request)
        visitor = request.cookies.get(VISITOR, "")
        if not visitor or not self._sessions.is_form_token(visitor, form.get("token")):
            raise BadForm("The form is not from a page of this browser, or the gateway restarted.")
        return form

    async def _to_root(self, request: Request) -> Response:
        del request
        return RedirectResponse(f"{ROOT}/", 303, HEADERS)

    async def _asset(self, request: Request) -> Response:
        answer = self._assets.answer(request.path_params["name"])
        if answer is None:
            raise HTTPException(404)
        answer.headers.update({**HEADERS, "cache-control": answer.headers["cache-control"]})
        return answer

    async def _sign_in(self, request: Request) -> Response:
        if request.method != "POST":
            return await self._sign_in_page(request, request.query_params.get("to"), None, 200)
        form = await self._checked_form(request)
        to = form.get("to")
        key = form.get("key").strip()
        if not await self._is_let_in(request, key or "-"):
            return await self._sign_in_page(request, to, "This is not a key of the gateway.", 401)
        self._sessions.end(request.cookies.get(SESSION))
        response = RedirectResponse(_inside(to), 303, HEADERS)
        keep(request, response, SESSION, self._sessions.begin(key), for_s=int(LIFETIME_S))
        return response

    async def _is_let_in(self, request: Request, key: str | None = None) -> bool:
        """Whether the API knows the key, whatever it allows; or asks for none."""
        try:
            await self._calls(request, key).ask(operations.GET_DOCUMENT, NOTHING, NOTHING)
        except ApiRefused as refused:
            if refused.status not in (_UNAUTHORIZED, _FORBIDDEN):
                raise
            return refused.status == _FORBIDDEN
        return True

    async def _sign_in_page(
        self, request: Request, to: str | None, problem: str | None, status: int
    ) -> Response:
        values = {"to": _inside(to or ""), "problem": problem}
        page = Shown(template="sign_in.html", title="Sign in", values=values, status=status)
        return await self._rendered(request, page)

    async def _sign_out(self, request: Request) -> Response:
        await self._checked_form(request)
        self._sessions.end(request.cookies.get(SESSION))
        response = RedirectResponse(url("sign-in"), 303, HEADERS)
        response.delete_cookie(SESSION, path=ROOT)
        return response

    async def _choose_colours(self, request: Request) -> Response:
        form = await self._checked_form(request)
        response = RedirectResponse(_inside(form.get("to")), 303, HEADERS)
        if form.get("scheme") in SCHEMES:
            keep(request, response, SCHEME, form.get("scheme"), for_s=VISITOR_S)
        return response

    async def _do(self, request: Request) -> Response:
        deed = DEEDS.get(request.path_params["name"])
        if deed is None:
            raise HTTPException(404)
        if request.method != "POST":
            # The API is asked here too, so that whoever may not see it gets the sign-in page.
            if not await self._is_let_in(request):
                return await self._sign_in_page(request, _address(request), None, _UNAUTHORIZED)
            seen = "" if deed.look is None else await deed.look(self._calls(request))
            filled = {"on": request.query_params.get("on", ""), "seen": seen, "reason": ""}
            return await self._deed_page(request, deed, filled)
        form = await self._checked_form(request)
        on, reason, seen = form.get("on"), form.get("reason").strip() or None, form.get("seen")
        filled = {"on": on, "seen": seen, "reason": reason or ""}
        if deed.reason == "needed" and reason is None:
            return await self._deed_page(request, deed, filled, "Say why; it is kept.", 400)
        try:
            answer = await deed.do(self._calls(request, reason=reason), on, reason, seen)
        except ApiRefused as refused:
            if refused.status == _UNAUTHORIZED:
                raise
            text = f"{refused.refusal.name}: {refused.refusal.text}"
            return await self._deed_page(request, deed, filled, text, refused.status)
        if isinstance(answer, Pings):
            values = {"pings": answer.pings, "partner": on}
            page = Shown(template="ping.html", title=f"Ping of {on}", values=values)
            return await self._rendered(request, page, {"here": "partners"})
        return RedirectResponse(_page_of(deed, on, done=deed.name), 303, HEADERS)

    async def _deed_page(
        self,
        request: Request,
        deed: Deed,
        filled: dict[str, str],
        problem: str | None = None,
        status: int = 200,
    ) -> Response:
        """`filled`: the fields of its form, with the subject as `on`."""
        on = filled["on"]
        command = deed.command.format(on=shlex.quote(printable(on)), reason="…")
        values = {
            "deed": deed,
            **filled,
            "subject": SUBJECTS[deed.subject],
            "problem": problem,
            "back": _page_of(deed, on),
        }
        page = Shown(
            template="deed.html",
            title=deed.button,
            values=values,
            command=command,
            status=status,
        )
        return await self._rendered(request, page, {"here": PARENTS.get(RETURNS[deed.subject][0])})

    async def _make_key(self, request: Request) -> Response:
        form = await self._checked_form(request)
        page = await keys.made(self._visit(request), form.fields)
        return await self._rendered(request, page, {"here": "keys"})

    async def _act_on_many(self, request: Request) -> Response:
        act = bulks.FORMS.get(request.path_params["name"])
        if act is None:
            raise HTTPException(404)
        answer = await act(self._visit(request), await self._checked_form(request))
        if isinstance(answer, Shown):
            return await self._rendered(request, answer, {"here": "bulks"})
        return RedirectResponse(answer, 303, HEADERS)

    async def _export(self, request: Request) -> Response:
        found = await exported(self._visit(request))
        if found is None:
            raise HTTPException(404)
        headers = {
            **HEADERS,
            "content-type": found.media,
            "content-disposition": f'attachment; filename="{found.name}"',
        }
        return StreamingResponse(found.pieces, headers=headers)

    async def _payload(self, request: Request) -> Response:
        visit = self._visit(request)
        if visit.get("id") is not None:
            return _Forwarded(visit.calls, GET_SENT_PAYLOAD, message.payload_path(visit))
        return _Forwarded(
            visit.calls, inbox_operations.BY_OFFSET.payload, inbox.payload_path(visit)
        )

    async def _report(self, request: Request) -> Response:
        visit = self._visit(request)
        return _Forwarded(visit.calls, GET_REPORT, NOTHING, reports.query_of(visit))

    async def _events(self, request: Request) -> Response:
        """What happens, by which a page knows when to renew itself; nobody asked for it."""
        calls = self._calls(request, is_use=False)
        return _Forwarded(calls, LIST_EVENTS, NOTHING, EventsQuery())

    async def _on_refused(self, request: Request, error: ApiRefused) -> Response:
        if error.status == _UNAUTHORIZED:
            self._sessions.end(request.cookies.get(SESSION))
            to = _address(request) if request.method == "GET" else None
            return await self._sign_in_page(request, to, None, _UNAUTHORIZED)
        if error.refusal.name == "ForeignHost":
            return _plain(error)
        return await self._error_page(request, error.status, error.refusal)

    async def _on_bad_form(self, request: Request, error: BadForm) -> Response:
        return await self._error_page(request, 403, Refusal(name="BadForm", text=str(error)))

    async def _on_line_error(self, request: Request, error: LineError) -> Response:
        return await self._error_page(request, 400, Refusal(name="InvalidQuery", text=str(error)))

    async def _on_http_exception(self, request: Request, error: HTTPException) -> Response:
        texts = {404: "There is no such page.", 405: "This page takes no such request."}
        text = texts.get(error.status_code, error.detail)
        name = {404: "NotFound", 405: "MethodNotAllowed"}.get(error.status_code, "InvalidRequest")
        return await self._error_page(request, error.status_code, Refusal(name=name, text=text))

    async def _error_page(self, request: Request, status: int, refusal: Refusal) -> Response:
        values = {"refusal": refusal, "code": status}
        page = Shown(template="refused.html", title=refusal.name, values=values, status=status)
        try:
            return await self._rendered(request, page)
        except ApiRefused as refused:
            return _plain(refused)

    async def _on_exception(self, request: Request, error: Exception) -> Response:
        """A bug of ours: noted as the API notes its own (R-43), and said in plain words."""
        self._on_bug("showing a page of the console", error)
        text = f"A bug of onceonly; the log says which. {printable(request.url.path)}\n"
        return Response(text, 500, HEADERS, "text/plain; charset=utf-8")


def _plain(refused: ApiRefused) -> Response:
    """No frame: a page for a foreign name has nothing of ours in it."""
    text = f"{refused.refusal.name}: {printable(refused.refusal.text)}\n"
    return Response(text, refused.status, HEADERS, "text/plain; charset=utf-8")


class _Forwarded(Response):
    """The API's own answer: a payload is an attachment in a sandbox, and events are a stream."""

    def __init__(self, calls: Calls, operation: Any, path: Any, query: Any = NOTHING) -> None:
        super().__init__()
        self._calls = calls
        self._asked = (operation, path, query)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._calls.forward(*self._asked, (scope, receive, send))


def _address(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}".removesuffix("?")


def _page_of(deed: Deed, on: str, *, done: str | None = None) -> str:
    page, name = RETURNS[deed.subject]
    query = {name: on} if on else {}
    return url(page, **query, done=done)


def _inside(to: str) -> str:
    """The address of a page of ours, or the first page: never one of another site."""
    parts = urlsplit(to)
    is_ours = not parts.scheme and not parts.netloc and parts.path.startswith(f"{ROOT}/")
    return to if is_ours and to.isprintable() and "\\" not in to else f"{ROOT}/"
