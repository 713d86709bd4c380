"""A server on loopback that speaks HTTP/2 over TLS, and tells of each request what came."""

from __future__ import annotations

import json
import ssl
from collections import defaultdict
from socketserver import BaseRequestHandler
from typing import Any

import h2.config
import h2.connection
import h2.events

from tests.httpbin import Loopback, Seen


class Http2(Loopback):
    """Serves HTTP/2 only; the context needs no word about it."""

    def __init__(self, context: ssl.SSLContext) -> None:
        context.set_alpn_protocols(["h2"])
        self.context = context
        super().__init__(Streams)  # type: ignore[arg-type] # any handler of a connection does
        self.url = f"https://127.0.0.1:{self.port}"

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        self.open.discard(connection)
        secure = self.context.wrap_socket(
            connection, server_side=True, do_handshake_on_connect=False
        )
        self.open.add(secure)
        return secure, address


class Streams(BaseRequestHandler):
    """One connection with its streams."""

    server: Http2

    def handle(self) -> None:
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.wire = h2.connection.H2Connection(config)
        self.heads: dict[int, list[tuple[str, str]]] = {}
        self.bodies: defaultdict[int, bytes] = defaultdict(bytes)
        self.wire.initiate_connection()
        self.request.sendall(self.wire.data_to_send())
        while data := self.request.recv(65536):
            for event in self.wire.receive_data(data):
                self.take(event)
            self.request.sendall(self.wire.data_to_send())

    def take(self, event: Any) -> None:
        if isinstance(event, h2.events.RequestReceived):
            self.heads[event.stream_id] = event.headers
        elif isinstance(event, h2.events.DataReceived):
            self.bodies[event.stream_id] += event.data
            self.wire.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.answer(event.stream_id)

    def answer(self, stream: int) -> None:
        told, body = dict(self.heads[stream]), self.bodies[stream]
        self.server.seen.append(Seen(told[":method"], told[":path"], self.heads[stream], body))
        content = json.dumps({"method": told[":method"], "size": len(body)}).encode()
        headers = [(":status", "200"), ("content-length", str(len(content)))]
        self.wire.send_headers(stream, headers)
        self.wire.send_data(stream, content, end_stream=True)
