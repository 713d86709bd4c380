"""Each way the demo's server fails: what the wire shows, and what its book says afterwards."""

from __future__ import annotations

import io
import json
import runpy
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import httpx
import pytest

from httpx_recover._demo import _server
from httpx_recover._demo._server import (
    ANSWER_AFTER,
    LATE_BY,
    READ_TIMEOUT,
    RETRY_AFTER,
    Book,
    Fault,
    OrderServer,
    fault_of,
)

PATIENT = httpx.Timeout(5.0)
DEMO = httpx.Timeout(5.0, read=READ_TIMEOUT)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with OrderServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.port
        server.shutdown()
        thread.join()


@pytest.fixture
def client(port: int, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """A client whose base URL is a book that no other test uses."""
    url = f"http://127.0.0.1:{port}/{request.node.name.replace('/', '-')}"
    with httpx.Client(base_url=url, timeout=PATIENT, trust_env=False) as client:
        yield client


def ref_of(fault: Fault) -> str:
    return next(f"order-{n}" for n in range(1, 41) if fault_of(f"order-{n}") is fault)


def post(client: httpx.Client, ref: str, timeout: httpx.Timeout = PATIENT) -> httpx.Response:
    return client.post("/orders", json={"ref": ref}, timeout=timeout)


def booked(client: httpx.Client, ref: str) -> int:
    assert client.get("/settled").json() == {"settled": True}
    return int(client.get("/book").json()["bookings"].get(ref, 0))


def book_again(client: httpx.Client, ref: str) -> None:
    answer = post(client, ref)
    assert (answer.status_code, answer.json()["ref"]) == (201, ref)


def raw(port: int, request: bytes) -> bytes:
    with closing(socket.create_connection(("127.0.0.1", port), timeout=5)) as wire:
        wire.sendall(request)
        wire.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: wire.recv(4096), b""))


def test_every_kind_of_failure_happens_twice_in_the_forty_orders_of_the_demo() -> None:
    faults = [fault_of(f"order-{n:03}") for n in range(1, 41)]
    failing = [fault for fault in Fault if fault is not Fault.NONE]
    assert {fault: faults.count(fault) for fault in failing} == dict.fromkeys(failing, 2)


def test_a_ref_without_a_number_is_booked_like_any_other(client: httpx.Client) -> None:
    book_again(client, "wedding-cake")
    assert booked(client, "wedding-cake") == 1


def test_a_healthy_order_is_booked_once_for_every_request(client: httpx.Client) -> None:
    ref = ref_of(Fault.NONE)
    assert [post(client, ref).json()["id"], post(client, ref).json()["id"]] == [1, 2]
    assert booked(client, ref) == 2


def test_503_books_nothing_and_names_a_wait(client: httpx.Client) -> None:
    ref = ref_of(Fault.DOWN)
    answer = post(client, ref)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, str(RETRY_AFTER))
    assert booked(client, ref) == 0
    book_again(client, ref)
    assert booked(client, ref) == 1


def test_cut_after_booking_shows_no_answer_and_a_resend_books_twice(client: httpx.Client) -> None:
    ref = ref_of(Fault.CUT_AFTER)
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        post(client, ref)
    assert booked(client, ref) == 1
    book_again(client, ref)
    assert booked(client, ref) == 2


def test_cut_before_booking_is_a_reset_and_nothing_is_booked(client: httpx.Client) -> None:
    ref = ref_of(Fault.CUT_BEFORE)
    with pytest.raises(httpx.ReadError):
        post(client, ref)
    assert booked(client, ref) == 0
    book_again(client, ref)
    assert booked(client, ref) == 1


def test_a_slow_order_is_booked_long_before_its_answer(client: httpx.Client) -> None:
    ref = ref_of(Fault.SLOW)
    with pytest.raises(httpx.ReadTimeout):
        post(client, ref, DEMO)
    assert booked(client, ref) == 1
    book_again(client, ref)
    assert booked(client, ref) == 2


def test_the_slow_answer_does_come(client: httpx.Client) -> None:
    start = time.monotonic()
    book_again(client, ref_of(Fault.SLOW))
    assert time.monotonic() - start >= ANSWER_AFTER > READ_TIMEOUT


def test_429_goes_on_until_the_wait_is_over(client: httpx.Client) -> None:
    ref = ref_of(Fault.BUSY)
    first, early = post(client, ref), post(client, ref)
    for answer in (first, early):
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, str(RETRY_AFTER))
    assert booked(client, ref) == 0
    time.sleep(RETRY_AFTER)
    book_again(client, ref)
    assert booked(client, ref) == 1


def test_half_an_answer_is_a_201_whose_body_breaks_off(client: httpx.Client) -> None:
    ref = ref_of(Fault.HALF)
    with (
        client.stream("POST", "/orders", json={"ref": ref}) as answer,
        pytest.raises(httpx.RemoteProtocolError, match="complete message body"),
    ):
        assert answer.status_code == 201
        answer.read()
    assert booked(client, ref) == 1
    book_again(client, ref)
    assert booked(client, ref) == 2


def test_a_unique_ref_is_cut_once_and_then_a_duplicate_for_ever(client: httpx.Client) -> None:
    ref = ref_of(Fault.UNIQUE)
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        post(client, ref)
    assert [post(client, ref).status_code, post(client, ref).status_code] == [409, 409]
    assert booked(client, ref) == 1


def test_a_silent_order_is_booked_only_after_its_client_gave_up(client: httpx.Client) -> None:
    ref = ref_of(Fault.LATE_SILENT)
    start = time.monotonic()
    with pytest.raises(httpx.ReadTimeout):
        post(client, ref, DEMO)
    assert client.get("/orders", params={"ref": ref}).json() == {"data": []}
    assert booked(client, ref) == 1
    assert time.monotonic() - start >= READ_TIMEOUT + LATE_BY


def test_a_502_hides_a_booking_that_comes_a_moment_later(client: httpx.Client) -> None:
    ref = ref_of(Fault.LATE_502)
    assert post(client, ref).status_code == 502
    assert client.get("/orders", params={"ref": ref}).json() == {"data": []}
    book_again(client, ref)
    assert booked(client, ref) == 2


def post_keyed(client: httpx.Client, ref: str, key: str) -> httpx.Response:
    return client.post("/orders", json={"ref": ref}, headers={"Idempotency-Key": key})


@pytest.fixture
def keyed(client: httpx.Client) -> httpx.Client:
    """The same client, at a book that dedupes."""
    parts = str(client.base_url).rstrip("/").rpartition("/")
    client.base_url = httpx.URL(f"{parts[0]}/keyed-{parts[2]}")
    return client


def test_a_keyed_run_books_a_key_once_and_repeats_its_answer(keyed: httpx.Client) -> None:
    ref = ref_of(Fault.NONE)
    answers = [post_keyed(keyed, ref, key).json()["id"] for key in ("a", "a", "b", "a")]
    assert answers == [1, 1, 2, 1]
    assert booked(keyed, ref) == 2


def test_a_keyed_run_books_every_request_without_a_key(keyed: httpx.Client) -> None:
    ref = ref_of(Fault.NONE)
    assert [post(keyed, ref).json()["id"], post(keyed, ref).json()["id"]] == [1, 2]


def test_another_run_takes_no_notice_of_a_key(client: httpx.Client) -> None:
    ref = ref_of(Fault.NONE)
    assert [post_keyed(client, ref, "a").json()["id"] for _ in range(2)] == [1, 2]


@pytest.mark.parametrize("fault", [Fault.CUT_AFTER, Fault.UNIQUE, Fault.LATE_502])
def test_a_resend_with_its_key_is_booked_once(keyed: httpx.Client, fault: Fault) -> None:
    ref = ref_of(fault)
    with suppress(httpx.RemoteProtocolError):
        assert post_keyed(keyed, ref, "a").status_code == 502
    again = post_keyed(keyed, ref, "a")
    assert (again.status_code, again.json()["ref"]) == (201, ref)
    assert booked(keyed, ref) == 1


def test_reads_filter_exactly_and_runs_do_not_share_a_book(client: httpx.Client) -> None:
    book_again(client, "order-020")
    book_again(client, "order-0200")
    assert client.get("/orders", params={"ref": "order-020"}).json() == {
        "data": [{"id": 1, "ref": "order-020"}]
    }
    assert len(client.get("/orders").json()["data"]) == 2
    other = f"{str(client.base_url).rstrip('/')}-other/orders"
    assert client.get(other).json() == {"data": []}


@pytest.mark.parametrize(("method", "path"), [("GET", "/nothing"), ("PUT", "/orders")])
def test_what_is_not_there_is_404(client: httpx.Client, method: str, path: str) -> None:
    assert client.request(method, path).status_code == 404


def test_one_connection_carries_many_requests(port: int) -> None:
    once = b"GET /alive/orders HTTP/1.1\r\nHost: x\r\n\r\n"
    assert raw(port, once + once).count(b"HTTP/1.1 200 OK\r\n") == 2


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"this is not HTTP\xff\n",
        b"POST /short/orders HTTP/1.1\r\nContent-Length: 90\r\n\r\n{}",
        b"POST /odd/orders HTTP/1.1\r\nContent-Length: many\r\n\r\n{}",
    ],
)
def test_what_is_no_whole_request_is_closed_without_an_answer(port: int, sent: bytes) -> None:
    assert raw(port, sent) == b""


def test_a_book_is_settled_only_when_its_last_late_booking_is_in() -> None:
    book = Book()
    book.add_later({"ref": "a"}, 0.05)
    book.add_later({"ref": "b"}, 0.2)
    book.settle()
    assert [order["ref"] for order in book.find(None)] == ["a", "b"]


def as_process(*args: str) -> subprocess.Popen[bytes]:
    command = (sys.executable, "-m", "httpx_recover._demo._server", *args)
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_as_a_process_it_prints_its_port_and_ends_with_its_standard_input() -> None:
    with as_process() as process:
        assert process.stdin
        assert process.stdout
        port = int(process.stdout.readline())
        assert json.loads(raw(port, b"GET /x/book HTTP/1.1\r\n\r\n").partition(b"\r\n\r\n")[2]) == {
            "bookings": {}
        }
        process.stdin.close()
        assert process.wait(10) == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def test_it_ends_when_the_process_that_started_it_is_killed() -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import time; from httpx_recover._demo import order_server\n"
            "with order_server() as url: print(url, flush=True); time.sleep(60)",
        ],
        stdout=subprocess.PIPE,
    )
    with parent:
        assert parent.stdout
        url = parent.stdout.readline().decode().strip()
        assert httpx.get(f"{url}/x/book", trust_env=False).status_code == 200
        parent.kill()
    gone_by = time.monotonic() + 10
    with pytest.raises(ConnectionRefusedError):
        while time.monotonic() < gone_by:
            socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)).close()
            time.sleep(0.05)


def test_the_port_can_be_chosen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    _server.main(["--port", str(port)])
    assert capsys.readouterr().out == f"{port}\n"


def test_the_module_is_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(sys, "argv", ["server"])
    monkeypatch.delitem(sys.modules, _server.__name__)
    runpy.run_module(_server.__name__, run_name="__main__")
    assert int(capsys.readouterr().out) > 0
