"""How the tables of MIME and XML make a package wrong: a valid one with something changed."""

from collections.abc import Callable

from ground import Attack, Ground, M
from packages import BOUNDARY, ONE_ORDER, Parcel, PayloadPart, wrap

Make = Callable[[Ground], Parcel]


def posting(make: Make) -> Attack:
    """Post what is made; status and name of the answer."""

    async def attack(ground: Ground) -> str:
        return await ground.say(ground.attacker.request(make(ground)))

    return attack


def written(*changes: tuple[str, str], message_id: str = M, number: str = "1") -> Attack:
    """A header document in which each first text is replaced by the second."""

    def edit(document: str) -> str:
        for old, new in changes:
            assert old in document, old
            document = document.replace(old, new, 1)
        return document

    return posting(lambda ground: ground.attacker.normal(message_id, number, edit=edit))


def documented(make: Callable[[str], str | bytes]) -> Attack:
    """A header document made of a valid one, as bytes of any kind."""

    def package(ground: Ground) -> Parcel:
        made: list[str | bytes] = []

        def edit(document: str) -> str:
            made.append(make(document))
            return document

        ground.attacker.normal(M, 1, edit=edit)
        return wrap(made[0], ONE_ORDER)

    return posting(package)


def repacked(*changes: tuple[bytes, bytes]) -> Attack:
    """A package in whose bytes each first run is replaced by the second."""

    def make(ground: Ground) -> Parcel:
        content_type, body = ground.attacker.normal(M, 1)
        for old, new in changes:
            assert old in body, old
            body = body.replace(old, new, 1)
        return Parcel(content_type, body)

    return posting(make)


def retyped(old: str, new: str) -> Attack:
    """A package whose own Content-Type is changed."""

    def make(ground: Ground) -> Parcel:
        content_type, body = ground.attacker.normal(M, 1)
        assert old in content_type
        return Parcel(content_type.replace(old, new), body)

    return posting(make)


def rebodied(make: Callable[[bytes], bytes]) -> Attack:
    """A package whose bytes are made of valid ones."""

    def package(ground: Ground) -> Parcel:
        content_type, body = ground.attacker.normal(M, 1)
        return Parcel(content_type, make(body))

    return posting(package)


def carrying(*payloads: PayloadPart) -> Attack:
    """A message with these payloads; a single one that arrives is the same to the last byte."""

    async def attack(ground: Ground) -> str:
        reply = await ground.attacker.send(M, 1, payloads=payloads)
        if reply.status == 204 and "onceonly-error" not in reply.headers:
            await ground.gateway.until(lambda: M in ground.delivered())
            items = (await ground.gateway.get("/v1/inbox"))["items"]
            (item,) = [one for one in items if one["message_id"] == M]
            for shown, sent in zip(item["payloads"], payloads, strict=True):
                assert (await ground.gateway.api.get(shown["href"])).content == sent.content
        return f"{reply.status} {reply.headers.get('onceonly-error', '')}".strip()

    return attack


def payload(content: bytes, kind: str = "application/octet-stream") -> PayloadPart:
    """One payload under its usual name."""
    return PayloadPart("po-1@a.example.com", kind, content)


DELIMITER = f"\r\n--{BOUNDARY}".encode()
