"""Scenes of failure for every client: a server or a proxy that fails so many times at one point."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

from tests import breaking as b
from tests.wire.stage import Scene, Stage

Make = Callable[[Stage, int], Scene]  # a scene where the fault is met so many times
ALWAYS = 9


# ------------------------------------------------------------------ not sent


def greeted(play: b.Break) -> Make:
    """The handshake fails."""
    return lambda stage, times: Scene(stage.server(greet=[play] * times))


def tunnelled(play: b.Break) -> Make:
    """The proxy fails at CONNECT."""
    return lambda stage, times: Scene(stage.server(), stage.proxy(script=[play] * times))


def greeted_in_a_tunnel(play: b.Break) -> Make:
    """The tunnel stands, the handshake in it fails."""
    return lambda stage, times: Scene(stage.server(greet=[play] * times), stage.proxy())


def greeted_by_the_proxy(play: b.Break) -> Make:
    """A proxy that is spoken to over TLS fails at that."""

    def make(stage: Stage, times: int) -> Scene:
        proxy = stage.proxy(stage.authority.good, greet=[play] * times)
        return Scene(stage.server(), proxy)

    return make


def by_socks(play: b.Break) -> Make:
    """The SOCKS proxy fails at connecting."""
    return lambda stage, times: Scene(stage.server(), stage.socks(script=[play] * times))


def server_is(state: b.State) -> Make:
    """Nobody takes the connection."""

    def make(stage: Stage, times: int) -> Scene:
        server = stage.server(state=state)
        return Scene(server, sick=[server] if times < ALWAYS else [])

    return make


def proxy_is(state: b.State, tls: Any = "good") -> Make:
    """Nobody takes the connection to the proxy."""

    def make(stage: Stage, times: int) -> Scene:
        proxy = stage.proxy(state=state)
        return Scene(stage.server(tls), proxy, sick=[proxy] if times < ALWAYS else [])

    return make


def socks_is_down(stage: Stage, times: int) -> Scene:
    proxy = stage.socks(state="down")
    return Scene(stage.server(), proxy, sick=[proxy] if times < ALWAYS else [])


# ------------------------------------------------------------------ credentials


def shown(kind: str) -> Make:
    """The server shows a certificate that does not hold."""
    return lambda stage, times: Scene(stage.server(getattr(stage.authority, kind)))


def asking(stage: Stage, times: int) -> Scene:
    return Scene(stage.server(stage.authority.asking(ssl.TLSVersion.TLSv1_3)))


def shown_in_a_tunnel(stage: Stage, times: int) -> Scene:
    return Scene(stage.server(stage.authority.untrusted), stage.proxy())


def shown_by_the_proxy(stage: Stage, times: int) -> Scene:
    return Scene(stage.server(), stage.proxy(stage.authority.untrusted))


# ------------------------------------------------------------------ sent, and no answer


def answered(play: b.Break, tls: Any = "good") -> Make:
    """The server reads the request whole, and then fails."""
    return lambda stage, times: Scene(stage.server(tls, answer=[play] * times))


def answered_in_a_tunnel(play: b.Break, proxy: str = "plain") -> Make:
    """The same through a tunnel; the proxy may be spoken to over TLS."""

    def make(stage: Stage, times: int) -> Scene:
        tls = stage.authority.good if proxy == "TLS" else None
        return Scene(stage.server(answer=[play] * times), stage.proxy(tls))

    return make


def answered_by_socks(stage: Stage, times: int) -> Scene:
    return Scene(stage.server(answer=[b.close] * times), stage.socks())


def forwarded(play: b.Break) -> Make:
    """A forwarding proxy reads the request whole, and then fails."""
    return lambda stage, times: Scene(stage.server(None), stage.proxy(script=[play] * times))
