"""Who is signed in: sessions in memory, and the tokens in forms.

A session is a random name in a cookie; the key that it stands for never leaves this process. A
restart ends all of them, which is safe and costs one sign-in. Wrong keys are not counted: nobody
guesses 256 bits, the API takes as many, and whoever can spend a ration locks others out. Knows
neither requests nor pages; time and chance are arguments.
"""

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Final

IDLE_S: Final = 3_600.0
"""How long a session may be unused; a page that only keeps itself up to date does not use it."""
LIFETIME_S: Final = 43_200.0
"""How long a session may last at most: a working day."""
SESSIONS_MAX: Final = 1_000
"""More people than look after one gateway; the oldest session goes first."""


class Session:
    """One person who is signed in with a key."""

    __slots__ = ("began_s", "key", "used_s")

    def __init__(self, key: str, now_s: float) -> None:
        self.key = key
        self.began_s = now_s
        self.used_s = now_s


class Sessions:
    """All of them; `now_s` is a monotonic clock in seconds, `fresh` makes a name nobody guesses."""

    def __init__(
        self, *, secret: bytes, now_s: Callable[[], float], fresh: Callable[[], str]
    ) -> None:
        self._secret = secret
        self._now_s = now_s
        self._fresh = fresh
        self._by_name: dict[str, Session] = {}

    def begin(self, key: str) -> str:
        """A new session with this key; returns its name, for the cookie."""
        while len(self._by_name) >= SESSIONS_MAX:
            del self._by_name[next(iter(self._by_name))]
        name = self._fresh()
        self._by_name[name] = Session(key, self._now_s())
        return name

    def find(self, name: str | None, *, is_use: bool) -> Session | None:
        """The session of this name, unless it is over."""
        session = None if name is None else self._by_name.get(name)
        if name is None or session is None:
            return None
        now_s = self._now_s()
        if now_s - session.used_s > IDLE_S or now_s - session.began_s > LIFETIME_S:
            del self._by_name[name]
            return None
        if is_use:
            session.used_s = now_s
        return session

    def end(self, name: str | None) -> None:
        """Forget it."""
        if name is not None:
            self._by_name.pop(name, None)

    def form_token(self, name: str) -> str:
        """What a form of this browser brings back: a page of another origin cannot know it."""
        return hmac.new(self._secret, name.encode(), sha256).hexdigest()

    def is_form_token(self, name: str, token: str) -> bool:
        """Whether it is the one."""
        return hmac.compare_digest(self.form_token(name).encode(), token.encode())
