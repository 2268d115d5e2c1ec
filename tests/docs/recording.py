"""A recorded run as data: who took part, and what was seen, step by step.

Nothing that differs between two runs of one scenario is kept: no times, addresses or random ids.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faulty_link import Fate, Parcel, Passage

from onceonly.journal.record import Record
from onceonly.message.event import Event
from onceonly.message.message import Message
from onceonly.message.signals import (
    PLAIN_ACK,
    Acknowledgment,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    Report,
)

TOLD_BY_REASON = frozenset(
    {
        Event.INQUIRY_SENT,
        Event.INQUIRY_RECEIVED,
        Event.REPORT_RECEIVED,
        Event.REPORT_SENT,
        Event.PONG_RECEIVED,
        Event.PROCESSING_CHANGED,
        Event.NOTIFIED,
        Event.REQUEUED,
        Event.ACK_RECEIVED,
    }
)
"""Rows whose `reason` is a word of ours; in others it may have addresses or what a library said."""

Step = dict[str, Any]


class Recording:
    """The steps of one run, in the order in which they were seen."""

    def __init__(self, title: str, profile: str) -> None:
        self.title = title
        self.profile = profile
        self.participants: list[str] = []
        self.steps: list[Step] = []
        self._names: dict[str, str] = {}
        self._seen: dict[str, Parcel] = {}

    def name(self, message_id: str, name: str) -> None:
        """What a MessageId is called in the run."""
        self._names[message_id] = name

    def id_of(self, name: str) -> str:
        """The MessageId that is called so."""
        return next(one for one, called in self._names.items() if called == name)

    def plain(self, text: str) -> str:
        """The text with names in the place of MessageIds."""
        for message_id, name in self._names.items():
            text = text.replace(message_id, name)
        return text

    def call(self, source: str, target: str, text: str) -> None:
        """An application or an operator calls a gateway, or is answered."""
        self.steps.append({"call": text, "from": source, "to": target})

    def note(self, place: str, text: str) -> None:
        """Something that was done to a participant."""
        self.steps.append({"note": text, "at": place})

    def pause(self, seconds: int, place: str) -> None:
        """The clock of the run was set forward, and the participant had waited for it."""
        self.steps.append({"pause": seconds, "at": place})

    def commit(self, place: str, rows: Sequence[Record]) -> None:
        """One transaction became durable at a gateway; a note tells of starts, where it matters."""
        told = [self._row(row) for row in rows if row.event is not Event.STARTED]
        if told:
            self.steps.append({"commit": told, "at": place})

    def passage(self, passage: Passage, fate: Fate) -> None:
        """Something went over a link, or was lost on it."""
        what: Step
        if passage.parcel is None:
            what = {"answer": 250 if passage.is_mail else 204}
        elif passage.is_answer:
            what = {"answer": 200, **self._package(passage.parcel)}
        else:
            what = self._package(passage.parcel)
        step = {**what, "from": passage.source, "to": passage.target}
        if fate is Fate.LOST:
            step["lost"] = True
        if fate is Fate.LATE:
            step["late"] = "leaves"
        if passage.is_late:
            step["late"] = "arrives"
        if passage.is_mail:
            step["by"] = "mail"
        self.steps.append(step)

    def _row(self, row: Record) -> Step:
        facts = {
            "event": row.event.value,
            "message": self._name(row.message_id),
            "attempt": row.attempt,
            "number": row.sequence_number,
            "outcome": row.outcome,
            "error": row.error_code,
            "severity": row.severity,
            "hop": row.hop or None,
            "reason": self.plain(row.reason or "") if row.event in TOLD_BY_REASON else None,
        }
        return {key: value for key, value in facts.items() if value not in (None, "")}

    def _package(self, parcel: Parcel) -> Step:
        """What the link can tell of a package; a copy is one only if it has the same bytes."""
        content = parcel.envelope.content
        facts: Step = {"package": parcel.kind.value}
        match content:
            case Message():
                facts |= self._message(content, parcel)
            case Acknowledgment():
                facts |= {"about": self._name(content.header.ref_to_message_id)}
                if content.status != PLAIN_ACK:
                    facts |= {"assurance": content.status.assurance.value}
            case ErrorSignal():
                facts |= {"about": self._name(content.header.ref_to_message_id)}
                error = content.errors[0]
                facts |= {"error": error.code.value, "severity": error.severity.value}
                facts |= {"min_retry": error.min_retry_s}
            case Inquiry():
                facts |= {"package": content.kind.value}
                facts |= {"about": self._name(content.header.ref_to_message_id or None)}
            case Report():
                facts |= self._report(content)
        copy = self._copy(parcel)
        if copy:
            facts["copy"] = copy
        return {key: value for key, value in facts.items() if value is not None}

    def _message(self, message: Message, parcel: Parcel) -> Step:
        hops = parcel.envelope.routing
        return {
            "message": self._name(message.message_id),
            "number": hops[-1].sequence_number,
            "hops": len(hops) if len(hops) > 1 else None,
            "about": self._name(message.ref_to_message_id),
            "acknowledges": message.acknowledgment is not None or None,
        }

    def _report(self, report: Report) -> Step:
        word = "Pong" if report.kind is InquiryKind.PING else f"answer to {report.kind.value}"
        return {
            "package": word,
            "about": self._name(report.about or None),
            "accepted": report.is_accepted,
            "status": None if report.status is None else report.status.value,
            "processing": None if report.processing is None else report.processing.value,
        }

    def _copy(self, parcel: Parcel) -> str | None:
        """Whether it was seen before on its hop: the same bytes, or the same in other clothes."""
        content = parcel.envelope.content
        message_id = (
            content.message_id if isinstance(content, Message) else content.header.message_id
        )
        place = f"{parcel.sender_uri} {message_id}"
        before = self._seen.setdefault(place, parcel)
        if before is parcel:
            return None
        if before.body == parcel.body:
            return "same bytes"
        return "same message" if before.content == parcel.content else "other message"

    def _name(self, message_id: str | None) -> str | None:
        if message_id is None:
            return None
        return self._names.setdefault(message_id, f"message {len(self._names) + 1}")

    def as_text(self) -> str:
        """The file, a line per step."""
        named = {step[key] for step in self.steps for key in ("from", "to", "at") if key in step}
        head = {
            "title": self.title,
            "profile": self.profile,
            "participants": [one for one in self.participants if one in named],
        }
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        steps = ",\n".join(f"    {json.dumps(step)}" for step in self.steps)
        return "\n".join(["{", *lines, '  "steps": [', steps, "  ]", "}", ""])


def compared(path: Path, recording: Recording, *, is_recording: bool) -> tuple[str, str]:
    """What is committed, and what was seen; a recording replaces the one by the other."""
    seen = recording.as_text()
    if is_recording:
        path.write_text(seen, "utf-8")
    return path.read_text("utf-8") if path.exists() else "", seen
