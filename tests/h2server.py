"""A server that speaks HTTP/2, over TCP (prior knowledge) or TLS (ALPN), and fails by script.

`answer` holds what becomes of each request that was read whole, in the order in which they came;
when it is used up the server is well. A request may be held (`wait`) until a later one decides what
becomes of both: so the fate of each of several streams on one connection is written down.
"""

from __future__ import annotations

import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from h2.errors import ErrorCodes
from hyperframe.frame import GoAwayFrame

from tests.breaking import Break, Listener, State, Wire

END = 2**31 - 1  # the last stream of a GOAWAY that only says that the end is near

Told = tuple[tuple[bytes, bytes], ...]


class Heard(NamedTuple):
    """One request as it came in."""

    method: str
    path: str
    body: bytes
    connection: int
    stream: int


class Talk(Wire):
    """One connection, seen from the server."""

    speaker: h2.connection.H2Connection
    number = 0
    stream = 0  # of the request that is being answered
    heads: dict[int, dict[bytes, bytes]]
    bodies: dict[int, bytearray]
    held: list[int]  # streams whose request was read and not answered

    def flush(self) -> None:
        """Send what the state machine wants sent."""
        self.socket.sendall(self.speaker.data_to_send())

    def respond(self, stream: int, status: int = 0, length: int | None = None) -> None:
        """The head of an answer."""
        method = self.heads[stream][b":method"]
        status = status or (201 if method == b"POST" else 200)
        size = len(self.body(stream)) if length is None else length
        head = [(":status", str(status)), ("content-length", str(size))]
        self.speaker.send_headers(stream, head)

    def body(self, stream: int) -> bytes:
        """The answer of a server that is well."""
        return b'{"got": %d}' % len(self.bodies[stream])


class H2Server(Listener):
    """Speaks HTTP/2; see the module."""

    def __init__(
        self,
        tls: ssl.SSLContext | None = None,
        *,
        answer: Iterable[Break] = (),
        state: State = "well",
    ) -> None:
        self.answer = deque(answer)
        self.read: list[Heard] = []
        self.begun = 0  # requests of which at least the head was read
        super().__init__(tls, state)

    def count(self, method: str) -> int:
        """How many requests of this method were read whole."""
        return sum(each.method == method for each in list(self.read))

    def serve(self, wire: Wire) -> None:
        talk = Talk(self, wire.socket)
        talk.number = self.wires.index(wire) + 1
        self.wires[talk.number - 1] = talk
        if not self.shake(talk):
            return
        wire.socket = talk.socket  # it is TLS now, and closed by who has taken it
        talk.heads, talk.bodies, talk.held = {}, {}, []
        talk.speaker = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        talk.speaker.initiate_connection()
        talk.flush()
        while data := talk.socket.recv(65536):
            try:
                events = talk.speaker.receive_data(data)
            except h2.exceptions.ProtocolError:
                return
            if not all(self.take(talk, event) for event in events):
                return
            talk.flush()

    def take(self, talk: Talk, event: Any) -> bool:
        """Take one event in; False when the connection is over."""
        if isinstance(event, h2.events.RequestReceived):
            self.begun += 1
            talk.heads[event.stream_id] = dict(event.headers or ())
            talk.bodies[event.stream_id] = bytearray()
        elif isinstance(event, h2.events.DataReceived):
            talk.bodies[event.stream_id] += event.data or b""
            talk.speaker.acknowledge_received_data(
                event.flow_controlled_length or 0, event.stream_id
            )
        elif isinstance(event, h2.events.StreamEnded):
            return self.play(talk, event.stream_id)
        return True

    def play(self, talk: Talk, stream: int) -> bool:
        """Decide what becomes of a request that was read whole."""
        head, body = talk.heads[stream], bytes(talk.bodies[stream])
        talk.stream = stream
        talk.held.append(stream)
        with self.lock:
            method, path = head[b":method"].decode(), head[b":path"].decode()
            self.read.append(Heard(method, path, body, talk.number, stream))
            play = self.answer.popleft() if self.answer else well
        return play(talk)


def each_in_turn(*plays: Break) -> list[Break]:
    """Read as many requests as there are plays, and only then do to each what is written."""

    def act(talk: Any) -> bool:
        goes_on = True
        for stream, play in zip(list(talk.held), plays, strict=True):
            talk.stream = stream
            goes_on = play(talk) and goes_on
        return goes_on

    return [wait] * (len(plays) - 1) + [act]


def wait(talk: Any) -> bool:
    """Say nothing yet."""
    return True


def well(talk: Any) -> bool:
    """Answer as one should."""
    talk.held.remove(talk.stream)
    talk.respond(talk.stream)
    talk.speaker.send_data(talk.stream, talk.body(talk.stream), end_stream=True)
    talk.flush()
    return True


def busy(talk: Any) -> bool:
    """Answer 503."""
    talk.held.remove(talk.stream)
    talk.respond(talk.stream, 503, 0)
    talk.speaker.end_stream(talk.stream)
    talk.flush()
    return True


def reset(code: ErrorCodes) -> Break:
    """RST_STREAM."""

    def play(talk: Any) -> bool:
        talk.held.remove(talk.stream)
        talk.speaker.reset_stream(talk.stream, code)
        talk.flush()
        return True

    return play


def goaway(
    last: int | Callable[[int], int],
    code: ErrorCodes = ErrorCodes.NO_ERROR,
    then: Break | None = None,
) -> Break:
    """GOAWAY with this last stream, or one made from ours; the connection is closed after it.

    `then` may go on with the connection, as a server does that says goodbye in time.
    """

    def play(talk: Any) -> bool:
        named = last(talk.stream) if callable(last) else last
        frame = GoAwayFrame(0, last_stream_id=named, error_code=int(code))
        talk.socket.sendall(frame.serialize())  # past the state machine, which would be over
        if then is not None:
            return then(talk)
        talk.drain()
        return False

    return play


def below(stream: int) -> int:
    """The client's stream before."""
    return stream - 2


def at(stream: int) -> int:
    """That stream itself."""
    return stream


def above(stream: int) -> int:
    """The client's next stream."""
    return stream + 2


def close(talk: Any) -> bool:
    """Close the TCP connection, without a word of HTTP/2."""
    return False


def slam(talk: Any) -> bool:
    """Reset the TCP connection."""
    talk.server.over.wait(0.05)
    return bool(talk.reset())


def silent(talk: Any) -> bool:
    """Say nothing more on the connection until the server is closed."""
    return bool(talk.hold())


def cut(then: Break) -> Break:
    """The head of an answer and a part of its body."""

    def play(talk: Any) -> bool:
        talk.respond(talk.stream, length=100)
        talk.speaker.send_data(talk.stream, b"only this")
        talk.flush()
        return then(talk)

    return play


def not_http2(talk: Any) -> bool:
    """Bytes that are no frame."""
    talk.socket.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3)
    talk.drain()
    return False


def goodbye_and_answer(talk: Any) -> bool:
    """GOAWAY that lets our stream end, and its answer, in one segment."""
    talk.held.remove(talk.stream)
    frame = GoAwayFrame(0, last_stream_id=talk.stream)
    talk.respond(talk.stream)
    talk.speaker.send_data(talk.stream, talk.body(talk.stream), end_stream=True)
    talk.socket.sendall(frame.serialize() + talk.speaker.data_to_send())
    return True


def answer_and_goodbye(talk: Any) -> bool:
    """The answer, and GOAWAY after it in the same segment."""
    talk.held.remove(talk.stream)
    frame = GoAwayFrame(0, last_stream_id=talk.stream)
    talk.respond(talk.stream)
    talk.speaker.send_data(talk.stream, talk.body(talk.stream), end_stream=True)
    talk.socket.sendall(talk.speaker.data_to_send() + frame.serialize())
    talk.drain()
    return False


def drop_idle(talk: Any) -> bool:
    """Answer, and close the connection while nothing is under way."""
    well(talk)
    talk.socket.shutdown(socket.SHUT_WR)
    return False
