"""The examples of requests' "Advanced Usage" on sessions, prepared requests and bodies."""

from __future__ import annotations

import copy
import io
import pickle
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.adapters import BaseAdapter, HTTPAdapter

from tests.httpbin import Httpbin
from tests.sessions import dressed, without_key

# Session objects


def test_cookies_persist(session: requests.Session, httpbin: Httpbin) -> None:
    session.get(f"{httpbin.url}/cookies/set/sessioncookie/123456789")
    r = session.get(f"{httpbin.url}/cookies")
    assert r.json() == {"cookies": {"sessioncookie": "123456789"}}
    assert session.cookies["sessioncookie"] == "123456789"


def test_cookies_are_deleted(session: requests.Session, httpbin: Httpbin) -> None:
    session.get(f"{httpbin.url}/cookies/set?a=1&b=2")
    assert session.get(f"{httpbin.url}/cookies/delete?a=").json() == {"cookies": {"b": "2"}}
    session.cookies.clear()
    assert session.get(f"{httpbin.url}/cookies").json() == {"cookies": {}}


def test_a_session_has_defaults(session: requests.Session, httpbin: Httpbin) -> None:
    session.auth = ("user", "pass")
    session.headers.update({"x-test": "true"})
    session.params = {"always": "1"}
    r = session.get(f"{httpbin.url}/get", headers={"x-test2": "true"}, params={"b": "2"})
    assert r.json()["headers"]["x-test"] == r.json()["headers"]["x-test2"] == "true"
    assert r.json()["headers"]["Authorization"] == "Basic dXNlcjpwYXNz"
    assert r.json()["args"] == {"always": "1", "b": "2"}


def test_cookies_of_one_request_do_not_persist(session: requests.Session, httpbin: Httpbin) -> None:
    url = f"{httpbin.url}/cookies"
    assert session.get(url, cookies={"from-my": "browser"}).json()["cookies"]
    assert session.get(url).json() == {"cookies": {}}
    requests.utils.add_dict_to_cookiejar(session.cookies, {"mine": "now"})
    assert session.get(url).json() == {"cookies": {"mine": "now"}}


def test_none_removes_a_default(session: requests.Session, httpbin: Httpbin) -> None:
    session.headers["X-A"] = "a"
    session.params = {"b": "1", "c": "2"}
    r = session.get(f"{httpbin.url}/get", headers={"X-A": None}, params={"b": None})
    assert "X-A" not in r.json()["headers"]
    assert r.json()["args"] == {"c": "2"}
    assert session.headers["X-A"] == "a"


def test_none_removes_a_header_of_requests(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/headers", headers={"Accept": None, "Connection": None})
    assert not {"Accept", "Connection"} & set(r.json()["headers"])


def test_a_session_of_ones_own(way: str, httpbin: Httpbin) -> None:
    class BaseUrl(requests.Session):
        """Joins what it is asked for to one URL."""

        def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> requests.Response:
            return super().request(method, httpbin.url + url, *args, **kwargs)

    with dressed(way, BaseUrl()) as session:
        assert session.post("/post", data="x").json()["data"] == "x"
        assert session.get("/redirect/1").url == f"{httpbin.url}/get"


def test_a_session_ends_with_its_block(way: str, httpbin: Httpbin) -> None:
    with dressed(way, requests.Session()) as session:
        assert session.get(f"{httpbin.url}/get").status_code == 200


def test_a_closed_session_can_be_used_again(session: requests.Session, httpbin: Httpbin) -> None:
    session.get(f"{httpbin.url}/get")
    session.close()
    assert session.get(f"{httpbin.url}/get").status_code == 200
    assert httpbin.connections == 2


def test_headers_keep_their_order(session: requests.Session, httpbin: Httpbin) -> None:
    session.headers = OrderedDict([("X-Z", "1"), ("X-A", "2"), ("X-M", "3")])
    session.get(f"{httpbin.url}/get", headers=OrderedDict([("X-B", "4"), ("X-A", "5")]))
    names = [name for name, _ in httpbin.seen[0].headers if name.startswith("X-")]
    assert names == ["X-Z", "X-A", "X-M", "X-B"]


# Request and response objects


def test_the_headers_that_were_sent(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/get")
    assert dict(r.request.headers) == dict(session.headers)
    assert (r.request.method, r.request.url, r.request.body) == ("GET", r.url, None)
    assert (r.request.path_url, r.headers["Content-Type"]) == ("/get", "application/json")


def test_the_request_that_was_sent_is_the_one_prepared(
    session: requests.Session, httpbin: Httpbin
) -> None:
    for method in ("GET", "POST", "PUT"):
        prepared = session.prepare_request(requests.Request(method, f"{httpbin.url}/anything"))
        assert session.send(prepared).request is prepared


def test_the_connection_of_an_answer(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/get")
    assert r.connection is session.get_adapter(r.url)
    with r.connection.send(r.request) as again:
        assert again.json()["method"] == "GET"


def test_the_version_of_an_answer(session: requests.Session, httpbin: Httpbin) -> None:
    assert session.get(f"{httpbin.url}/get").raw.version == 11
    old = session.get(f"{httpbin.url}/old")
    assert (old.raw.version, old.text) == (10, "old")


# Prepared requests


def test_a_prepared_request_may_be_changed(session: requests.Session, httpbin: Httpbin) -> None:
    request = requests.Request("POST", f"{httpbin.url}/post", data="to be replaced", headers={})
    prepared = request.prepare()
    prepared.headers["X-Custom"] = "1"
    prepared.body = "exactly this.."
    r = session.send(prepared, stream=False, verify=True, proxies={}, cert=None, timeout=5)
    assert (r.status_code, r.json()["data"]) == (200, "exactly this..")
    assert r.json()["headers"]["X-Custom"] == "1"
    assert "User-Agent" not in r.request.headers


def test_a_session_prepares_with_its_state(session: requests.Session, httpbin: Httpbin) -> None:
    session.headers["X-State"] = "of the session"
    session.cookies["a"] = "b"
    prepared = session.prepare_request(
        requests.Request("POST", f"{httpbin.url}/post", json={"a": 1}, headers={"X-One": "1"})
    )
    prepared.body = b'{"a": 2}'
    del prepared.headers["Content-Type"]
    r = session.send(prepared)
    assert (r.json()["data"], r.json()["json"]) == ('{"a": 2}', None)
    assert r.json()["headers"]["X-State"] == "of the session"
    assert r.json()["headers"]["Cookie"] == "a=b"


def test_a_prepared_request_takes_the_environment(
    session: requests.Session, httpbin: Httpbin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "some-bundle")
    prepared = session.prepare_request(requests.Request("GET", f"{httpbin.url}/get"))
    settings = session.merge_environment_settings(prepared.url, {}, None, None, None)
    assert settings["verify"] == "some-bundle"
    assert session.send(prepared, **settings).status_code == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
def test_a_prepared_request_is_sent_twice(
    session: requests.Session, httpbin: Httpbin, method: str
) -> None:
    prepared = requests.Request(method, f"{httpbin.url}/anything", json={"a": 1}).prepare()
    answers = [session.send(prepared).json() for _ in range(2)]
    assert [each["json"] for each in answers] == [{"a": 1}] * 2
    one, two = (without_key(each["headers"]) for each in answers)
    assert one == two


def test_a_copy_of_a_prepared_request(session: requests.Session, httpbin: Httpbin) -> None:
    prepared = requests.Request("POST", f"{httpbin.url}/post", data={"a": "1"}).prepare()
    session.send(prepared)
    twin = prepared.copy()
    twin.headers["X-Copy"] = "1"
    assert session.send(twin).json()["form"] == {"a": "1"}
    assert "X-Copy" not in prepared.headers


# Body content workflow


def test_the_body_is_read_when_asked(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/bytes/1000", stream=True)
    assert (r.status_code, int(r.headers["Content-Length"])) == (200, 1000)
    assert not r.raw.closed
    assert len(r.content) == 1000


def test_a_stream_of_the_session(session: requests.Session, httpbin: Httpbin) -> None:
    session.stream = True
    with session.get(f"{httpbin.url}/bytes/1000") as r:
        assert r.raw.read(1) == b"\x00"


def test_a_body_that_is_not_wanted(session: requests.Session, httpbin: Httpbin) -> None:
    with session.get(f"{httpbin.url}/bytes/3000000", stream=True) as r:
        assert next(r.iter_content(10)) == bytes(range(10))
    assert r.raw.closed
    assert session.get(f"{httpbin.url}/get").status_code == 200
    assert httpbin.connections == 2


def test_a_posted_stream(session: requests.Session, httpbin: Httpbin) -> None:
    with session.post(f"{httpbin.url}/stream/3", stream=True) as r:
        assert len(list(r.iter_lines())) == 3
    with session.put(f"{httpbin.url}/bytes/9", stream=True) as r:
        assert r.raw.read() == bytes(range(9))


@pytest.mark.usefixtures("clock")
def test_a_stream_of_a_failure(session: requests.Session, httpbin: Httpbin) -> None:
    for status in (404, 503):
        for method in ("GET", "POST"):
            url = f"{httpbin.url}/status/{status}"
            with session.request(method, url, stream=True) as r:
                assert (r.status_code, r.raw.read(3)) == (status, b'{"c')
                assert b"".join(r.iter_content(2)) == b'ode": "%d"}' % status


# Keep-alive


def test_one_connection_for_many_requests(session: requests.Session, httpbin: Httpbin) -> None:
    for verb in ("GET", "POST", "PUT", "HEAD", "GET"):
        session.request(verb, f"{httpbin.url}/anything")
    session.get(f"{httpbin.url}/stream/3")
    session.get(f"{httpbin.url}/status/404")
    session.get(f"{httpbin.url}/gzip")
    assert (httpbin.connections, len(httpbin.seen)) == (1, 8)


def test_a_stream_that_was_read_gives_its_connection_back(
    session: requests.Session, httpbin: Httpbin
) -> None:
    with session.get(f"{httpbin.url}/bytes/10", stream=True) as r:
        assert r.content
        session.get(f"{httpbin.url}/get")
    assert httpbin.connections == 1


def test_a_stream_that_was_not_read_keeps_its_connection(
    session: requests.Session, httpbin: Httpbin
) -> None:
    with session.get(f"{httpbin.url}/bytes/10", stream=True) as r:
        session.get(f"{httpbin.url}/get")
        assert httpbin.connections == 2
        assert r.content == bytes(range(10))


def test_a_connection_can_be_closed(session: requests.Session, httpbin: Httpbin) -> None:
    for _ in range(2):
        session.get(f"{httpbin.url}/get", headers={"Connection": "close"})
    assert httpbin.connections == 2


# Streaming uploads and chunked requests


def test_a_file_is_streamed(session: requests.Session, httpbin: Httpbin, tmp_path: Path) -> None:
    (tmp_path / "massive-body").write_bytes(b"m" * 100_000)
    with open(tmp_path / "massive-body", "rb") as file:
        r = session.post(f"{httpbin.url}/post", data=file)
    assert r.json()["data"] == "m" * 100_000
    assert r.json()["headers"]["Content-Length"] == "100000"
    assert "Transfer-Encoding" not in r.json()["headers"]


def test_a_file_is_sent_from_where_it_stands(session: requests.Session, httpbin: Httpbin) -> None:
    file = io.BytesIO(b"skip this")
    file.seek(5)
    assert session.put(f"{httpbin.url}/put", data=file).json()["data"] == "this"
    assert file.read() == b""


def gen() -> Iterator[bytes]:
    yield b"hi"
    yield b"there"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_generator_is_sent_in_chunks(
    session: requests.Session, httpbin: Httpbin, method: str
) -> None:
    r = session.request(method, f"{httpbin.url}/anything", data=gen())
    assert r.json()["data"] == "hithere"
    assert r.json()["headers"]["Transfer-Encoding"] == "chunked"
    assert "Content-Length" not in r.json()["headers"]


def test_a_generator_with_a_length(session: requests.Session, httpbin: Httpbin) -> None:
    class Sized:
        def __len__(self) -> int:
            return 7

        def __iter__(self) -> Iterator[bytes]:
            return gen()

    r = session.post(f"{httpbin.url}/post", data=Sized())
    assert (r.json()["data"], r.json()["headers"]["Content-Length"]) == ("hithere", "7")


def test_many_files_for_one_field(session: requests.Session, httpbin: Httpbin) -> None:
    files = [
        ("images", ("foo.png", io.BytesIO(b"foo"), "image/png")),
        ("images", ("bar.png", io.BytesIO(b"bar"), "image/png")),
    ]
    parts = session.post(f"{httpbin.url}/post", files=files).json()["files"]
    assert [(p["name"], p["filename"], p["content"]) for p in parts] == [
        ("images", "foo.png", "foo"),
        ("images", "bar.png", "bar"),
    ]


# Streaming requests


def test_lines_as_they_come(session: requests.Session, httpbin: Httpbin) -> None:
    with session.get(f"{httpbin.url}/stream/20", stream=True) as r:
        lines = r.iter_lines()
        assert next(lines) == b'{"id": 0}'
        assert len([line for line in lines if line]) == 19


def test_lines_as_text(session: requests.Session, httpbin: Httpbin) -> None:
    with session.get(f"{httpbin.url}/stream/2", stream=True) as r:
        if r.encoding is None:
            r.encoding = "utf-8"
        assert list(r.iter_lines(decode_unicode=True)) == ['{"id": 0}', '{"id": 1}']


def test_a_body_in_chunks_is_whole(session: requests.Session, httpbin: Httpbin) -> None:
    assert session.get(f"{httpbin.url}/stream/3").text.count("\n") == 3


# Link headers


def test_link_headers(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.head(f"{httpbin.url}/link")
    assert r.links["next"] == {"url": "/users?page=2", "rel": "next"}
    assert r.links["last"]["url"] == "/users?page=6"


# Transport adapters


class Canned(BaseAdapter):
    """An adapter that needs no network."""

    def send(self, request: Any, *_: Any, **__: Any) -> requests.Response:
        response = requests.Response()
        response.status_code, response.url, response.request = 200, request.url, request
        response.raw = io.BytesIO(b"canned")
        return response

    def close(self) -> None:
        """There is nothing to close."""


def test_the_longest_prefix_wins(session: requests.Session, httpbin: Httpbin) -> None:
    session.mount(f"{httpbin.url}/bytes", Canned())
    session.mount("fake://", Canned())
    assert session.get(f"{httpbin.url}/bytes/1").content == b"canned"
    assert session.get(f"{httpbin.url}/get").json()["method"] == "GET"
    assert session.get("fake://somewhere/get").text == "canned"
    assert list(session.adapters) == [f"{httpbin.url}/bytes", "https://", "http://", "fake://"]


def test_an_adapter_is_what_it_was(session: requests.Session) -> None:
    adapter = session.get_adapter("https://example.com/")
    assert isinstance(adapter, HTTPAdapter)
    assert adapter.max_retries.total == 0
    assert list(session.adapters) == ["https://", "http://"]


# Pickled responses and sessions


def test_a_response_is_pickled(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.post(f"{httpbin.url}/post", data={"a": "1"})
    twin = pickle.loads(pickle.dumps(r))
    assert (twin.status_code, twin.url, twin.json()) == (200, r.url, r.json())
    assert (twin.headers, twin.elapsed, twin.reason) == (r.headers, r.elapsed, "OK")
    assert (twin.request.method, twin.request.body) == ("POST", "a=1")
    assert session.send(twin.request).json()["form"] == {"a": "1"}


def test_a_session_is_pickled(session: requests.Session, httpbin: Httpbin) -> None:
    session.headers["X-Kept"] = "1"
    session.get(f"{httpbin.url}/cookies/set/a/b")
    with pickle.loads(pickle.dumps(session)) as twin:
        assert twin.post(f"{httpbin.url}/post").json()["headers"]["X-Kept"] == "1"
        assert twin.get(f"{httpbin.url}/cookies").json() == {"cookies": {"a": "b"}}
        assert type(twin.get_adapter("http://")) is type(session.get_adapter("http://"))


def test_a_session_is_copied(session: requests.Session, httpbin: Httpbin) -> None:
    with copy.deepcopy(session) as twin:
        assert twin.get(f"{httpbin.url}/get").status_code == 200
