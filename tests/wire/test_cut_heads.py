"""An answer whose head was cut is no answer, whatever of it came."""

from __future__ import annotations

from http.client import HTTPResponse
from typing import Any

import pytest
import requests
from urllib3.connection import HTTPConnection

from httpx_recover import UnknownOutcome
from httpx_recover._requests_phase import watched
from tests.breaking import Break, Wire
from tests.drivers import DRIVERS, run_calls
from tests.wire.stage import Stage, told

WHOLE = b"HTTP/1.1 201 Created\r\nContent-Length: 15\r\n\r\n"
HEADS = [
    WHOLE[: WHOLE.index(b"\r\n")],
    WHOLE[: WHOLE.index(b"\r\n") + 2],
    WHOLE[: WHOLE.index(b"Length")],
    WHOLE[: WHOLE.index(b"5\r\n")],  # then the length would be 1
    WHOLE[:-2],
    WHOLE[:-1],
]


def cut_head(head: bytes) -> Break:
    """Send this much of the answer, and close."""

    def play(wire: Wire) -> bool:
        wire.send(head)
        return False

    return play


def call(stage: Stage, driver: str, method: str, head: bytes) -> tuple[Any, int]:
    """What the caller gets of one call, and how often it was delivered."""
    server = stage.server(None, answer=[cut_head(head)])
    (end,) = run_calls(driver, [(method, server.url, {"content": b"{}"})])
    return end, len(server.read)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_write_is_unknown_when_the_head_of_its_answer_is_cut(
    stage: Stage, driver: str, head: bytes
) -> None:
    end, delivered = call(stage, driver, "POST", head)
    assert isinstance(end, UnknownOutcome), end
    assert delivered == 1


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("driver", ["httpx sync", "requests sync"])
def test_a_read_is_made_again_when_the_head_of_its_answer_is_cut(
    stage: Stage, driver: str, head: bytes
) -> None:
    end, delivered = call(stage, driver, "GET", head)
    assert end.json() == {"got": 2}
    assert delivered == 2
    first = told(end).attempts[0]
    assert first["cause"] in ("ConnectionError", "RemoteProtocolError")


def test_what_is_no_head_at_all_is_no_answer_either(stage: Stage) -> None:
    end, delivered = call(stage, "requests sync", "POST", b"220 mail.example ESMTP\r\n\r\n")
    assert isinstance(end, UnknownOutcome), end
    assert delivered == 1


def test_requests_alone_takes_half_a_head_for_an_answer(stage: Stage) -> None:
    server = stage.server(None, answer=[cut_head(HEADS[0])])
    assert requests.post(server.url, timeout=5).status_code == 201


def test_a_connection_with_a_response_class_of_its_own_keeps_it() -> None:
    class Own(HTTPResponse):
        pass

    class Connection(HTTPConnection):
        response_class = Own  # type: ignore[assignment] # as http.client has it

    assert watched(Connection).response_class is Own
