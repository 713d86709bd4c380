"""What the tests over sockets share: servers that are closed at the end, sessions, and calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests

from httpx_recover import Key, Policy, _drive, outcome
from httpx_recover.requests import RecoverAdapter
from tests.breaking import Break, BreakingServer, Listener
from tests.breaking_proxies import Proxy, SocksProxy
from tests.h2server import H2Server
from tests.tls import Authority

TIMEOUT = 0.2
POLICY = Policy(backoff=(0.02, 0.03), jitter=0.0, settle=0.2, key=Key.none())


@dataclass
class Scene:
    """A place to send to, and how to get there."""

    server: BreakingServer
    proxy: Listener | None = None
    url: str = ""
    body: Any = b'{"ref": "a"}'
    cert: str | None = None
    sick: list[Listener] = field(default_factory=list)  # made well by `mend`

    def __post_init__(self) -> None:
        self.url = self.url or f"{self.server.url}/orders"

    def settings(self) -> dict[str, Any]:
        """Arguments for `session.request`."""
        body = self.body() if callable(self.body) else self.body
        found: dict[str, Any] = {"data": body, "timeout": TIMEOUT, "cert": self.cert}
        if self.proxy is not None:
            found["proxies"] = {"http": self.proxy.url, "https": self.proxy.url}
        return found

    def mend(self) -> None:
        """Make well what is down or full."""
        for each in self.sick:
            each.mend()

    def delivered(self, method: str = "POST") -> int:
        """How often the server, or the forwarding proxy before it, has read the request whole."""
        before = self.proxy.count(method) if isinstance(self.proxy, Proxy) else 0
        return max(self.server.count(method), before)


class Stage:
    """Makes servers and proxies, and closes them."""

    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self.ends = ExitStack()

    def server(self, tls: Any = "good", **script: Any) -> BreakingServer:
        """A server; over TLS with the good certificate unless told otherwise."""
        return self._kept(BreakingServer(self.authority.good if tls == "good" else tls, **script))

    def proxy(self, tls: Any = None, **script: Any) -> Proxy:
        """An HTTP proxy."""
        return self._kept(Proxy(tls, **script))

    def socks(self, **script: Any) -> SocksProxy:
        """A SOCKS5 proxy."""
        return self._kept(SocksProxy(**script))

    def http2(self, *answer: Break, tls: Any = None) -> H2Server:
        """A server that speaks HTTP/2."""
        return self._kept(H2Server(self.authority.http2 if tls else None, answer=answer))

    def _kept(self, listener: Any) -> Any:
        self.ends.callback(listener.close)
        return listener

    @contextmanager
    def session(self, adapter: Any = None, **settings: Any) -> Iterator[requests.Session]:
        """A session with our adapter, or another one, that trusts the authority."""
        if adapter is None:
            adapter = RecoverAdapter(**{"policy": POLICY} | settings)
        with requests.Session() as session:
            session.trust_env = False
            session.verify = self.authority.bundle
            session.mount("http://", adapter)
            session.mount("https://", adapter)
            yield session

    def bare(self, scene: Scene, method: str = "POST", **settings: Any) -> Any:
        """What requests alone makes of it: a response or an exception."""
        with self.session(requests.adapters.HTTPAdapter()) as session:
            return one(session, method, scene, **settings)

    def ours(self, scene: Scene, method: str = "POST", **settings: Any) -> Any:
        """The same, with our adapter."""
        with self.session() as session:
            return one(session, method, scene, **settings)


def one(session: requests.Session, method: str, scene: Scene, **settings: Any) -> Any:
    """Make one call; a response or an exception."""
    try:
        return session.request(method, scene.url, **scene.settings() | settings)
    except Exception as exc:
        return exc


def inner(exc: BaseException) -> str:
    """The names of what an error of requests holds, outermost first."""
    names = []
    each: Any = exc
    while isinstance(each, BaseException) and len(names) < 8:
        names.append(type(each).__name__)
        held = [*each.args, getattr(each, "reason", None)]
        each = next((inside for inside in held if isinstance(inside, BaseException)), None)
    return " ".join(names)


def told(result: Any) -> Any:
    """The outcome that a response or an exception carries."""
    found = outcome(result)
    assert found is not None, f"{result!r} carries no outcome"
    return found


def mend_while_waiting(monkeypatch: pytest.MonkeyPatch, mend: Callable[[], None]) -> None:
    """Whatever is down gets well as soon as recovery waits."""

    class Clock(_drive.Clock):
        def sleep(self, seconds: float) -> None:
            mend()
            time.sleep(seconds)

        async def asleep(self, seconds: float) -> None:
            mend()
            await super().asleep(seconds)

    monkeypatch.setattr("httpx_recover._drive.clock", Clock())
