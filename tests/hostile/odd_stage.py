"""Where odd packages arrive: one gateway with every entrance, and everybody whom it knows.

Every other party is a listener that takes whatever comes and says 204, or what a test wants it to
say. What would end the process, or was a 500, is written down with where it was raised.
"""

import asyncio
import json
import re
import traceback
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import aio_pika
import structlog
from mailing import MailSystem
from odd_packages import KINDS, parcel
from packages import Parcel
from peer import PATIENCE_S
from running_gateway import NEVER_S, OUR_PARTY, RunningGateway, form
from smtp_peers import speaking

import onceonly
from onceonly.gateway.config import read_configuration
from ports import free_port

SOURCES: Final = str(Path(onceonly.__file__).parent)
MAILBOX: Final = "msh@b.example.com"
UNKNOWN: Final = "nobody-knows-1"
"""The agreement that a stranger names."""

THROUGH: Final = "through-1"
"""The agreement of what passes through."""

ARROW: Final = "application/vnd.apache.arrow.stream"
SHOWN: Final = (
    *("/v1/journal?limit=1000", "/v1/inbox?limit=1000&payloads=inline", "/v1/messages?limit=1000"),
    *("/v1/notices?limit=1000", "/v1/incidents?all=1", "/v1/partners"),
)
_PLAIN: Final = re.compile(r"[\t -~\x80-\xff]+")
"""What may stand in a header of HTTP (RFC 9110 §5.5)."""

SETTLED_S: Final = 1.0
"""Real seconds for what goes on after a package; what takes longer waits for somebody."""

NO_CONTENT: Final = b"HTTP/1.1 204 No Content\r\n\r\n"
_MESSAGE_ID: Final = re.compile(rb"<MessageId>([^<]+)</MessageId>")

LIVE: Final[dict[str, Any]] = {
    "timeout": 300,
    "retries": 1,
    "retry_interval": NEVER_S,
    "on_exhausted": "fail",
}
"""In a drill of rate 1000: whoever waits for a response in an answer waits 0.3 s."""

HASTY: Final[dict[str, Any]] = {"timeout": 1, "retries": 1, "retry_interval": 1}
"""Of what we deliver for others: given up after some milliseconds, so that the next one goes."""


class Trouble(NamedTuple):
    """What would have ended the process, or was a bug's 500."""

    what: str
    error: str
    where: str
    """The innermost line of ours."""


def trouble_of(what: str, error: BaseException) -> Trouble:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(SOURCES)]
    where = [f"{one.filename.removeprefix(SOURCES)[1:]}:{one.lineno}" for one in ours]
    text = f"{type(error).__name__}: {error}"
    return Trouble(what, text[:200], " < ".join(reversed(where[-4:])))


class Neighbour:
    """Everybody else's HTTP endpoint; which of them is meant, its path says."""

    def __init__(self) -> None:
        self.heard: dict[str, list[bytes]] = {}
        self.answers: deque[bytes] = deque()
        """What is said next at the path /answer."""
        self.arrived = asyncio.Condition()
        self._writers: set[asyncio.StreamWriter] = set()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()
        for writer in tuple(self._writers):
            writer.transport.abort()
        await self._server.wait_closed()

    def uri(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    await self._serve_one(reader, writer)
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode("ascii")[1:]
        length = re.search(rb"(?i)\r\ncontent-length: *([0-9]+)", head)
        body = await reader.readexactly(int(length[1]) if length else 0)
        async with self.arrived:
            self.heard.setdefault(path, []).append(body)
            self.arrived.notify_all()
        is_scripted = path.startswith("answer") and self.answers
        writer.write(self.answers.popleft() if is_scripted else NO_CONTENT)
        await writer.drain()

    async def hear(self, path: str, *words: bytes, after: int = 0) -> bytes:
        """The first package at the path, behind so many, that has all these words in it."""

        def find() -> bytes | None:
            heard = self.heard.get(path, [])[after:]
            return next((one for one in heard if all(word in one for word in words)), None)

        async with asyncio.timeout(PATIENCE_S), self.arrived:
            await self.arrived.wait_for(lambda: find() is not None)
            found = find()
            assert found is not None
            return found


class Role(NamedTuple):
    """Who sends a package: its names and addresses, and what its signals are about."""

    name: str
    profile: str
    agreement: str
    party: str
    party_type: str | None = None
    to_party: str = OUR_PARTY
    path: str = ""
    """Of its endpoint at the neighbour."""
    route: str = ""
    """The route whose previous or next hop it is."""
    partner: str = ""
    """The party to which messages go that its signals are about."""


def _partners() -> list[Role]:
    """Partners by URI, by type and with an application that looks; a stranger that knows one."""
    roles = []
    for profile in ("rm-2000", "rm-2001"):
        year = profile[3:]
        plain, typed, looked_at = f"urn:p:{year}", f"7{year}", f"urn:v:{year}"
        roles += [
            Role(
                f"partner {year}",
                profile,
                f"agreed-{year}",
                plain,
                path=f"partner-{year}",
                partner=plain,
            ),
            Role(
                f"typed partner {year}",
                profile,
                f"typed-{year}",
                typed,
                "a_b",
                path=f"typed-{year}",
                partner=f"a_b:{typed}",
            ),
            Role(
                f"validated partner {year}",
                profile,
                f"validated-{year}",
                looked_at,
                path=f"validated-{year}",
                partner=looked_at,
            ),
            Role(
                f"stranger {year}",
                profile,
                UNKNOWN,
                plain,
                path=f"partner-{year}",
                partner=plain,
            ),
        ]
    return roles


ROUTES: Final[Mapping[str, tuple[str, str, str]]] = {
    f"{profile[3:]}-{mode}-{scheme}": (profile, mode, scheme)
    for profile, mode in (("rm-2000", "relay"), ("rm-2001", "relay"), ("rm-2001", "accept"))
    for scheme in ("http", "mail")
}
"""Profile, mode and the next hop's transport, by the route's name."""


def _hops() -> list[Role]:
    """Previous and next hops of every route."""
    roles = []
    for name, (profile, _, _) in ROUTES.items():
        ends = {"party": f"urn:from:{name}", "to_party": f"urn:to:{name}"}
        roles.append(
            Role(f"origin {name}", profile, THROUGH, path=f"back-{name}", route=name, **ends)
        )
        roles.append(
            Role(
                f"typed origin {name}",
                profile,
                THROUGH,
                f"from {name}".replace(" ", "-"),
                "a_b",
                ends["to_party"],
                path=f"back-{name}",
                route=name,
            )
        )
        roles.append(
            Role(f"next hop {name}", profile, THROUGH, path=f"on-{name}", route=name, **ends)
        )
    return roles


ANSWERING: Final = {"signalsOnly": "answer-signals", "signalsAndResponse": "answer-response"}
"""Partners that answer in the answer, by what is agreed with them: their paths."""

_ANSWERERS: Final = [
    Role(
        f"answerer {mode}",
        "rm-2001",
        f"agreed-{path}",
        f"urn:p:{path}",
        path=path,
        partner=f"urn:p:{path}",
    )
    for mode, path in ANSWERING.items()
]
_BEYOND: Final = [
    Role(
        f"{scheme} partner",
        "rm-2001",
        f"agreed-{scheme}",
        f"urn:p:{scheme}",
        path=f"{scheme}-partner",
        partner=f"urn:p:{scheme}",
    )
    for scheme in ("mail", "amqp")
]
ROLES: Final = {role.name: role for role in (*_partners(), *_hops(), *_ANSWERERS, *_BEYOND)}


class Case(NamedTuple):
    """One odd package: how it comes in, who sends it, what it is, and what is odd about it."""

    entrance: str
    role: str
    kind: str
    changes: Mapping[str, str | None]

    @property
    def line(self) -> str:
        """As the kept table has it; read back by `case_of`."""
        return json.dumps([self.entrance, self.role, self.kind, dict(self.changes)])


def case_of(line: str) -> Case:
    return Case(*json.loads(line))


class WatchedGateway(RunningGateway):
    """A gateway that does not end where a process would, so that one can look at why."""

    @property
    def failures(self) -> list[BaseException]:
        return self._failures

    @property
    def contained(self) -> list[BaseException]:
        """What ended nobody, and is a bug of ours all the same (R-43)."""
        return self._bugs

    async def stop(self, grace_s: float = 2.0) -> None:
        """Whoever looks at the failures says what is wrong; until then they are only kept."""
        self.expects_bugs = True
        failures, self._failures = self._failures, []
        try:
            await super().stop(grace_s)
        finally:
            # What fails from here on was begun before, and is told to the list that it knows.
            self._failures = failures


class Stage:
    """A gateway that runs, its neighbours, and the way of every package to it."""

    def __init__(self, directory: Path, broker_uri: str | None = None) -> None:
        self._directory = directory
        self._broker_uri = broker_uri
        self._ids: Counter[str] = Counter()
        self._live: dict[str, str] = {}
        self._bugs: list[Trouble] = []
        self._asking = ""
        """MessageId that our next message will have, where its answer is already made."""
        self._cancels: dict[str, str] = {}
        self._calls: list[asyncio.Task[Any]] = []
        self._innocent = 0
        self.neighbour = Neighbour()
        self.mail = MailSystem()
        self.smtp_port = free_port()

    async def open(self, stack: AsyncExitStack) -> None:
        """What is open is closed by the stack, in the opposite order."""
        loop = asyncio.get_running_loop()
        await self.neighbour.open()
        stack.push_async_callback(self.neighbour.close)
        await self.mail.open()
        stack.push_async_callback(self.mail.close)
        self.mail.is_holding.set()
        before = loop.get_exception_handler()
        loop.set_exception_handler(self._note_bug)
        stack.callback(loop.set_exception_handler, before)
        path = self._directory / "gateway.toml"
        path.write_text(self._configuration(), "utf-8")
        if self._broker_uri is not None:
            await self._declare(f"{self.queue}-away")
        await self._begin(path, stack)
        stack.push_async_callback(self._hang_up)

    async def _begin(self, path: Path, stack: AsyncExitStack) -> None:
        """The gateway of the configuration, in this process."""
        self.gateway = WatchedGateway(read_configuration(path))
        await self.gateway.start()
        stack.push_async_callback(self.gateway.stop, 0.0)

    async def _declare(self, queue: str) -> None:
        """So that what goes to the broker finds a place there."""
        async with await aio_pika.connect(self._broker_uri) as connection:
            channel = await connection.channel()
            await channel.declare_queue(queue)

    async def _hang_up(self) -> None:
        """Wait for no answer of the API any more."""
        for call in self._calls:
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls)

    def _note_bug(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None:
            self._bugs.append(trouble_of("a bug's 500", error))

    def troubles(self) -> list[Trouble]:
        """Everything since the stage was opened."""
        ended = [trouble_of("the process would end", one) for one in self.gateway.failures]
        contained = [trouble_of("a contained bug", one) for one in self.gateway.contained]
        return ended + contained + self._bugs

    # --- The configuration ---------------------------------------------------------------------

    def _configuration(self) -> str:
        keys: dict[str, Any] = {
            "party": [OUR_PARTY],
            "listen": f"http://127.0.0.1:{free_port()}/msh",
            "api": f"http://127.0.0.1:{free_port()}",
            "store": "gateway.db",
            "lake": "lake",
        }
        smtp = {
            "mailbox": MAILBOX,
            "listen": f"smtp://127.0.0.1:{self.smtp_port}",
            "relay": f"smtp://127.0.0.1:{self.mail.port}",
            "starttls": "never",
        }
        tables: list[tuple[str, dict[str, Any]]] = [
            ("[gateway]", keys),
            ("[smtp]", smtp),
            ("[drill]", {"clock_rate": 1000}),
            *(("[[agreement]]", one) for one in self._agreements()),
            *(("[[route]]", self._route(name)) for name in ROUTES),
        ]
        if self._broker_uri is not None:
            tables.append(("[amqp]", {"listen": f"{self._broker_uri}queue={self.queue}"}))
        return "\n".join(
            "\n".join([heading, *(f"{key} = {_toml(value)}" for key, value in table.items()), ""])
            for heading, table in tables
        )

    @property
    def queue(self) -> str:
        """Where packages come in from the broker."""
        return self._directory.name

    def _agreements(self) -> list[dict[str, Any]]:
        agreements = [self._agreement(role) for role in _partners() if role.agreement != UNKNOWN]
        agreements += [self._agreement(role) for role in _ANSWERERS]
        for mode, agreement in zip(ANSWERING, agreements[-2:], strict=True):
            agreement["sync_reply_mode"] = mode
        by_mail, by_broker = (
            self._agreement(role) | {"receiver_uri": self.neighbour.uri(role.path)}
            for role in _BEYOND
        )
        by_mail["send_to"] = "smtp:partner@a.example.com"
        agreements.append(by_mail)
        if self._broker_uri is not None:
            by_broker["send_to"] = f"{self._broker_uri}routing_key={self.queue}-away"
            by_broker["reliable_messaging_method"] = "Transport"
            for key in ("timeout", "retries", "on_exhausted"):
                del by_broker[key]  # Of the acknowledgement protocol, which does not run there.
            agreements.append(by_broker)
        bystander = Role("bystander", "rm-2000", "bystander-1", "urn:bystander", path="bystander")
        return [*agreements, self._agreement(bystander)]

    def _agreement(self, role: Role) -> dict[str, Any]:
        party = role.party
        named = party if role.party_type is None else {"id": party, "type": role.party_type}
        return {
            "id": role.agreement,
            "profile": role.profile,
            "with": [named],
            "send_to": self.neighbour.uri(role.path),
            **LIVE,
            **(
                {"validator": self.neighbour.uri("validate"), "ack_status": "content"}
                if role.name.startswith("validated") or role.path == "answer-response"
                else {}
            ),
            # So that what is never acknowledged holds nothing back.
            **({"window": 1000} if role.profile == "rm-2001" else {}),
        }

    def _route(self, name: str) -> dict[str, Any]:
        profile, mode, scheme = ROUTES[name]
        onward = self.neighbour.uri(f"on-{name}")
        return {
            "id": name,
            "profile": profile,
            "intermediary": mode,
            "from": [f"urn:from:{name}", {"id": f"from-{name}", "type": "a_b"}],
            "to": [f"urn:to:{name}"],
            "back_to": self.neighbour.uri(f"back-{name}"),
            "send_to": onward if scheme == "http" else f"smtp:{name}@a.example.com",
            "receiver_uri": onward,
            **(HASTY if mode == "accept" else {}),
        }

    # --- The packages --------------------------------------------------------------------------

    async def parcel(self, case: Case) -> Parcel:
        """The package of the case, about something that the gateway knows."""
        role, kind = ROLES[case.role], KINDS[case.kind]
        sender_uri = self.neighbour.uri(role.path)
        addresses: dict[str, str | None] = {
            "agreement": role.agreement,
            "message_id": self.fresh_id(),
            "sender_uri": sender_uri,
            "error_uri": sender_uri,
            "receiver_uri": self.gateway.uri,
        }
        changes = dict(case.changes)
        if case.entrance == "mail":
            for field in ("header_encoding", "payload_encoding"):
                changes.setdefault(field, "base64")
        if role.name == "amqp partner" and kind.is_message:
            changes = {"method": "Transport", "ack_requested": None, **changes}
        names_party = kind.is_message or (role.party_type is not None and "origin" in role.name)
        if names_party:
            addresses |= {"from_party": role.party, "to_party": role.to_party}
            changes.setdefault("from_type", role.party_type)
        else:
            addresses |= {"from_party": sender_uri, "to_party": self.gateway.uri}
        if not kind.is_message or kind.fields.get("ref") == "":
            addresses |= await self._subject(role, case.kind)
        # A sequence may begin anew at any time; a number that follows would have to be counted.
        addresses["number"] = "1" if kind.is_message else None
        return parcel(case.kind, addresses, changes)

    def fresh_id(self, prefix: str = "m") -> str:
        self._ids[prefix] += 1
        return f"{prefix}-{self._ids[prefix]:04}@a.example.com"

    async def _subject(self, role: Role, kind: str) -> dict[str, str | None]:
        """What a signal of the role is about: a message, or a question of ours about one."""
        if role.route:
            about = await self._in_transit(role)
        elif role.name.startswith("answerer"):
            about = self._asking = self.fresh_id(role.path)
        elif role.name == "amqp partner":
            about = await self.submit(role.partner)
        else:
            about = await self._live_message(role)
        asked = about
        if kind.endswith("report") and not role.route:
            asked = await self._question(role, kind.split()[1], about)
        return {"ref": asked, "about": about}

    async def _live_message(self, role: Role) -> str:
        """A message of ours to the partner that waits for its acknowledgement."""
        known = self._live.get(role.partner)
        if known is None or self.gateway.state_of(known) != "sending":
            known = await self.submit(role.partner)
            await self.settle()
            self._live[role.partner] = known
        return known

    async def submit(self, to: str) -> str:
        message = {"to": to, "service": "Ordering", "action": "NewOrder"}
        files = form(message, b"<Order/>")
        answer = await self.gateway.call("POST", "/v1/messages", files=files)
        assert answer.status == 201, answer
        message_id: str = answer.json["message_id"]
        return message_id

    async def _in_transit(self, role: Role) -> str:
        """A message of the route that the next hop has not answered."""
        if role.route not in self._live:
            origin = f"origin {role.route}"
            kind = f"{role.profile[3:]} message"
            message_id = self.fresh_id("honest")
            honest = Case("http", origin, kind, {"message_id": message_id})
            assert (await self.post(await self.parcel(honest))).startswith(b"HTTP/1.1 204")
            await self.settle()
            self._live[role.route] = message_id
        return self._live[role.route]

    async def _question(self, role: Role, about_what: str, about: str) -> str:
        """MessageId of a question that we have just asked."""
        calls = {
            "ping": (f"/v1/partners/{role.partner}/ping", b"Ping"),
            "status": (f"/v1/messages/{about}/status-request", b"StatusRequest"),
            "cancel": (f"/v1/messages/{about}/cancel", b"CancelRequest"),
        }
        if about_what not in calls or role in _BEYOND:
            return about
        if about_what == "cancel" and about in self._cancels:
            return self._cancels[about]  # It is asked once, and again only much later.
        path, word = calls[about_what]
        before = len(self.neighbour.heard.get(role.path, ()))
        call = asyncio.create_task(self.gateway.call("POST", path))
        if about_what == "ping":
            self._calls.append(call)  # It lasts until the Pong comes.
        elif (await call).status != 202:
            return about
        question = await self.neighbour.hear(role.path, word, after=before)
        await self.settle()
        found = _MESSAGE_ID.search(question)
        assert found is not None
        asked = found[1].decode()
        if about_what == "cancel":
            self._cancels[about] = asked
        return asked

    # --- The entrances -------------------------------------------------------------------------

    async def bring(self, case: Case) -> None:
        """Let the package of the case come in, and return when everything caused by it is over."""
        made = self._last = await self.parcel(case)
        match case.entrance:
            case "http":
                await self.post(made, case.changes.get("outer_field"))
                if KINDS[case.kind].is_message:
                    # Its repeat has an answer of its own.
                    await self.settle()
                    await self.post(made, case.changes.get("outer_field"))
            case "mail":
                await self._mail(made, case.changes.get("outer_field"))
            case "amqp":
                await self._publish(made)
            case "answer":
                await self._answer(case, made)
            case _:
                raise AssertionError(case.entrance)
        await self.settle()

    def shown(self) -> bytes:
        """The bytes of what came in last."""
        return self._last.content_type.encode("utf-8", "surrogatepass") + b" | " + self._last.body

    async def settle(self) -> None:
        await self.gateway.parts.tasks.settle(SETTLED_S)

    async def post(self, made: Parcel, field: str | None = None) -> bytes:
        """The answer of the listener to the package."""
        host, _, port = self.gateway.uri.split("/")[2].partition(":")
        head = _head(
            "POST /msh HTTP/1.1",
            f"Host: {host}:{port}",
            f"Content-Type: {made.content_type}",
            f"Content-Length: {len(made.body)}",
            "Connection: close",
            field,
        )
        return await _said(int(port), head + made.body)

    async def _mail(self, made: Parcel, field: str | None) -> None:
        body = made.body.replace(b"\r\n.", b"\r\n..")
        head = _head("From: <them@a.example.com>", f"Content-Type: {made.content_type}", field)
        async with speaking(self.smtp_port) as client:
            await client.greet()
            for command in (b"MAIL FROM:<them@a.example.com>", b"RCPT TO:<msh@b.example.com>"):
                assert (await client.ask(command)).startswith("250")
            assert (await client.ask(b"DATA")).startswith("354")
            with suppress(ConnectionError):
                await client.say(head + body + b".\r\n")
                await client.reply()

    async def _publish(self, made: Parcel) -> None:
        """Into the queue, and wait until one behind it was taken."""
        assert self._broker_uri is not None
        async with await aio_pika.connect(self._broker_uri) as connection:
            channel = await connection.channel()
            message = aio_pika.Message(made.body, headers={"Content-Type": made.content_type})
            await channel.default_exchange.publish(message, self.queue)
        await self.innocent("amqp")

    async def _answer(self, case: Case, made: Parcel) -> None:
        """A message of ours goes out, and the package is what comes back in the answer."""
        role = ROLES[case.role]
        body, message_id = made.body, self._asking or self.fresh_id(role.path)
        self._asking = ""
        head = _head(
            f"HTTP/1.1 {case.changes.get('answer_status', '200 OK')}",
            f"Content-Type: {made.content_type}",
            f"Content-Length: {len(body)}",
            case.changes.get("outer_field"),
        )
        self.neighbour.answers.append(head + body)
        message = {"to": role.partner, "service": "Ordering", "action": "NewOrder"}
        answer = await self.gateway.call(
            "PUT", f"/v1/messages/{message_id}", files=form(message, b"<Order/>")
        )
        assert answer.status == 201, answer

    # --- What must be true afterwards ----------------------------------------------------------

    async def innocent(self, entrance: str = "http") -> None:
        """An honest message of somebody else: acknowledged, and handed over."""
        self._innocent += 1
        message_id = self.fresh_id("innocent")
        addresses = {
            "agreement": "bystander-1",
            "message_id": message_id,
            "from_party": "urn:bystander",
            "to_party": OUR_PARTY,
            "sender_uri": self.neighbour.uri("bystander"),
            "error_uri": self.neighbour.uri("bystander"),
            "receiver_uri": self.gateway.uri,
            "number": str(self._innocent),
        }
        made = parcel("2000 message", addresses, {})
        if entrance == "http":
            assert (await self.post(made)).startswith(b"HTTP/1.1 204")
        else:
            assert self._broker_uri is not None
            async with await aio_pika.connect(self._broker_uri) as connection:
                channel = await connection.channel()
                message = aio_pika.Message(made.body, headers={"Content-Type": made.content_type})
                await channel.default_exchange.publish(message, self.queue)
        await self.neighbour.hear("bystander", b"Acknowledgement", message_id.encode())
        await self.gateway.until(lambda: message_id in self.gateway.inbox_ids())

    async def read_everything(self) -> None:
        """What applications, operators and the lake see of what was stored can be written."""
        for path in SHOWN:
            await self._get(path)
        for path in ("/v1/inbox?payloads=inline", "/v1/journal"):
            await self._get(path, accept=ARROW)
        for item in (await self._get("/v1/inbox?limit=1000"))["items"]:
            for payload in item["payloads"]:
                answer = await self.gateway.api.get(payload["href"])
                assert answer.status_code == 200, (payload, answer)
                assert _PLAIN.fullmatch(answer.headers["content-type"]), answer.headers
        answer = await self.gateway.call("POST", "/v1/lake/publish")
        assert answer.status == 200, answer

    async def _get(self, path: str, accept: str = "application/json") -> Any:
        answer = await self.gateway.api.get(path, headers={"Accept": accept})
        assert answer.status_code == 200, (path, answer)
        return answer.json() if accept == "application/json" else None

    async def look_again(self) -> list[Trouble]:
        """What there was, and what there is again when the gateway starts: poison."""
        seen = self.troubles()
        with suppress(AssertionError, TimeoutError, OSError):
            await self.gateway.restart()
            await self.settle()
        again = [one for one in self.troubles() if one not in seen]
        count = len(self.troubles()) - len(seen)
        if count and not again:
            again = seen[-1:]
        return [*seen, *(one._replace(what=f"{one.what} again at a start") for one in again)]

    async def look(self) -> list[Trouble]:
        """What there was, also when the gateway starts again over what it stored."""
        troubles = self.troubles()
        if troubles:
            return troubles
        try:
            await self.settle()
            await self.innocent()
            try:
                await self.read_everything()
            except (AssertionError, ValueError, ArithmeticError, TypeError, LookupError) as error:
                return [*self.troubles(), trouble_of("what is stored cannot be shown", error)]
            await self.gateway.restart()
            await self.settle()
            await self.innocent()
        except (AssertionError, TimeoutError, OSError) as error:
            return [*self.troubles(), trouble_of("an honest message does not get through", error)]
        return [one._replace(what=f"{one.what}, after a start") for one in self.troubles()]


def _head(*lines: str | None) -> bytes:
    given = (line for line in lines if line is not None)
    return "\r\n".join([*given, "", ""]).encode("utf-8", "surrogatepass")


async def _said(port: int, request: bytes) -> bytes:
    """Everything that is answered to the request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            with suppress(ConnectionError):
                writer.write(request)
                await writer.drain()
                return await reader.read()
            return b""
    finally:
        writer.transport.abort()


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


@asynccontextmanager
async def staged(directory: Path, broker_uri: str | None = None) -> AsyncIterator[Stage]:
    """A fresh stage."""
    stage = Stage(directory, broker_uri)
    with structlog.testing.capture_logs():
        async with AsyncExitStack() as stack:
            await stage.open(stack)
            yield stage
