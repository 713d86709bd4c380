"""The examples of httpx's own documentation, "QuickStart", with us underneath and without."""

from __future__ import annotations

import io
import json
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.clients import Dialect
from tests.conftest import FakeClock
from tests.httpbin import Httpbin
from tests.sessions import without_key

pytestmark = pytest.mark.anyio


# Make a request


@pytest.mark.parametrize("verb", ["get", "post", "put", "patch", "delete", "options"])
async def test_every_verb_is_a_method(client: Any, httpbin: Httpbin, verb: str) -> None:
    r = await getattr(client, verb)(f"{httpbin.url}/anything")
    assert (r.status_code, repr(r)) == (200, "<Response [200 OK]>")
    assert r.json()["method"] == verb.upper()
    assert [each.method for each in httpbin.seen] == [verb.upper()]


async def test_a_head_has_headers_and_no_body(client: Any, httpbin: Httpbin) -> None:
    r = await client.head(f"{httpbin.url}/get")
    assert (r.status_code, r.content) == (200, b"")
    assert int(r.headers["Content-Length"]) > 0


async def test_a_verb_of_ones_own(client: Any, httpbin: Httpbin) -> None:
    r = await client.request("MKCOL", f"{httpbin.url}/anything", content="x")
    assert (r.json()["method"], r.json()["data"]) == ("MKCOL", "x")


async def test_what_a_request_sends_by_itself(
    dialect: Dialect, client: Any, httpbin: Httpbin
) -> None:
    await client.get(f"{httpbin.url}/get")
    await client.post(f"{httpbin.url}/post", data={"key": "value"})
    one, two = (without_key(dict(each.headers)) for each in httpbin.seen)
    assert list(one) == ["Host", "Accept", "Accept-Encoding", "Connection", "User-Agent"]
    assert list(two) == [*one, "Content-Length", "Content-Type"]
    assert one["User-Agent"].startswith(f"python-{dialect.lib.__name__}/")


# Passing parameters in URLs


async def test_parameters_in_the_url(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    params = {"key1": "value1", "key2": "value2"}
    r = await client.get(f"{httpbin.url}/get", params=params)
    assert r.url == dialect.lib.URL(f"{httpbin.url}/get?key1=value1&key2=value2")
    assert r.json()["args"] == params


async def test_a_list_as_a_parameter(client: Any, httpbin: Httpbin) -> None:
    params = {"key1": "value1", "key2": ["value2", "value3"]}
    r = await client.get(f"{httpbin.url}/get", params=params)
    assert str(r.url) == f"{httpbin.url}/get?key1=value1&key2=value2&key2=value3"
    assert r.json()["args"]["key2"] == ["value2", "value3"]


async def test_parameters_that_need_escapes(client: Any, httpbin: Httpbin) -> None:
    params = {"a b": "c&d=é", "none": None, "yes": True, "n": 1}
    r = await client.get(f"{httpbin.url}/get", params=params)
    assert r.json()["args"] == {"a b": "c&d=é", "none": "", "yes": "true", "n": "1"}


async def test_a_fragment_is_not_sent(client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/get?a=1#part")
    assert (r.url.fragment, r.json()["target"]) == ("part", "/get?a=1")


# Response content


async def test_text_is_decoded_as_the_header_says(client: Any, httpbin: Httpbin) -> None:
    words = {"body": "ünïcode ✓", "type": "text/plain; charset=utf-8"}
    r = await client.get(f"{httpbin.url}/text", params=words)
    assert (r.encoding, r.text) == ("utf-8", "ünïcode ✓")


async def test_text_without_a_charset_is_utf8(client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/text", params={"body": "é"})
    assert (r.charset_encoding, r.encoding, r.text) == (None, "utf-8", "é")


async def test_an_encoding_can_be_set(client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/text", params={"body": "é"})
    r.encoding = "ISO-8859-1"
    assert r.text == "Ã©"


async def test_binary_content(client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/bytes/1024")
    assert io.BytesIO(r.content).read(3) == b"\x00\x01\x02"
    assert len(r.content) == 1024


async def test_gzip_is_unpacked(client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/gzip")
    assert r.headers["Content-Encoding"] == "gzip"
    assert r.json() == {"gzipped": True}


async def test_json_content(client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/get")
    assert r.json() == json.loads(r.text) == json.loads(r.content)
    with pytest.raises(ValueError, match="line 1"):
        (await client.get(f"{httpbin.url}/text?body=not+json")).json()


# Custom headers


async def test_custom_headers(client: Any, httpbin: Httpbin) -> None:
    headers = {"user-agent": "my-app/0.0.1", "X-B": "b"}
    r = await client.get(f"{httpbin.url}/headers", headers=headers)
    assert r.json()["headers"]["user-agent"] == "my-app/0.0.1"
    assert r.json()["headers"]["X-B"] == "b"


async def test_a_header_that_stands_twice(client: Any, httpbin: Httpbin) -> None:
    headers = [("X-Twice", "1"), ("X-Twice", "2")]
    for verb in ("GET", "POST"):
        await client.request(verb, f"{httpbin.url}/anything", headers=headers)
        sent = [each for each in httpbin.seen[-1].headers if each[0] == "X-Twice"]
        assert sent == headers


# Sending form, multipart, JSON and binary data


async def test_a_form(client: Any, httpbin: Httpbin) -> None:
    r = await client.post(f"{httpbin.url}/post", data={"key1": "value1", "key2": "value2"})
    assert r.json()["form"] == {"key1": "value1", "key2": "value2"}


async def test_a_form_with_many_values(client: Any, httpbin: Httpbin) -> None:
    r = await client.post(f"{httpbin.url}/post", data={"key1": ["value1", "value2"]})
    assert r.json()["form"] == {"key1": ["value1", "value2"]}


async def test_json_is_encoded(client: Any, httpbin: Httpbin) -> None:
    data = {"integer": 123, "boolean": True, "list": ["a", "b", "c"]}
    for verb in ("POST", "PUT", "PATCH"):
        r = await client.request(verb, f"{httpbin.url}/anything", json=data)
        assert r.json()["json"] == data
        assert r.json()["headers"]["Content-Type"] == "application/json"


async def test_binary_request_data(client: Any, httpbin: Httpbin) -> None:
    r = await client.post(f"{httpbin.url}/post", content=b"Hello, world")
    assert r.json()["data"] == "Hello, world"
    assert "Content-Type" not in r.json()["headers"]
    headers = {"Content-Type": "text/csv"}
    r = await client.put(f"{httpbin.url}/put", content="a,é", headers=headers)
    assert httpbin.seen[-1].body == "a,é".encode()
    assert r.json()["headers"]["Content-Type"] == "text/csv"


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
async def test_a_generator_is_sent_in_chunks(
    dialect: Dialect, client: Any, httpbin: Httpbin, verb: str
) -> None:
    body = dialect.body(b"Hello, ", b"world")
    r = await client.request(verb, f"{httpbin.url}/anything", content=body)
    assert r.json()["data"] == "Hello, world"
    assert r.json()["headers"]["Transfer-Encoding"] == "chunked"
    assert "Content-Length" not in r.json()["headers"]


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.xls"
    path.write_text("cells")
    return path


async def test_a_file(client: Any, httpbin: Httpbin, report: Path) -> None:
    with open(report, "rb") as file:
        r = await client.post(f"{httpbin.url}/post", files={"upload-file": file})
    (part,) = r.json()["files"]
    assert (part["name"], part["filename"]) == ("upload-file", "report.xls")
    assert part["content"] == "cells"


async def test_a_file_with_a_name_and_a_type(client: Any, httpbin: Httpbin, report: Path) -> None:
    with open(report, "rb") as file:
        told = ("other.xls", file, "application/vnd.ms-excel", {"Expires": "0"})
        r = await client.post(f"{httpbin.url}/post", files={"upload-file": told})
    (part,) = r.json()["files"]
    assert (part["filename"], part["type"]) == ("other.xls", "application/vnd.ms-excel")
    assert (part["expires"], part["content"]) == ("0", "cells")


async def test_a_file_beside_a_form(client: Any, httpbin: Httpbin, report: Path) -> None:
    with open(report, "rb") as file:
        data, files = {"message": "Hello, world!"}, {"file": file}
        r = await client.post(f"{httpbin.url}/post", data=data, files=files)
    assert r.json()["form"] == {"message": "Hello, world!"}
    assert r.json()["files"][0]["content"] == "cells"


# Response status codes and headers


async def test_status_codes(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/get")
    assert r.status_code == dialect.lib.codes.OK
    assert (r.is_success, r.is_error, r.reason_phrase) == (True, False, "OK")
    assert r.raise_for_status() is r


async def test_a_missing_page_is_an_answer(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    not_found = await client.get(f"{httpbin.url}/status/404")
    assert (not_found.status_code, not_found.is_client_error) == (404, True)
    with pytest.raises(dialect.lib.HTTPStatusError, match="404 Not Found") as caught:
        not_found.raise_for_status()
    assert caught.value.response is not_found
    assert caught.value.request is not_found.request
    assert len(httpbin.seen) == 1


@pytest.mark.parametrize("status", [400, 401, 402, 403, 405, 409, 410, 418, 422, 501])
async def test_a_final_failure_is_sent_once(client: Any, httpbin: Httpbin, status: int) -> None:
    for verb in ("GET", "POST"):
        r = await client.request(verb, f"{httpbin.url}/status/{status}")
        assert (r.status_code, r.json()) == (status, {"code": str(status)})
    assert len(httpbin.seen) == 2


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_server_is_an_answer_in_the_end(
    dialect: Dialect, client: Any, httpbin: Httpbin, clock: FakeClock, status: int
) -> None:
    r = await client.get(f"{httpbin.url}/status/{status}")
    assert (r.status_code, r.json()) == (status, {"code": str(status)})
    with pytest.raises(dialect.lib.HTTPStatusError, match=str(status)):
        r.raise_for_status()


@pytest.mark.parametrize("status", [201, 202, 203, 204, 206, 207, 304])
async def test_other_answers_pass(client: Any, httpbin: Httpbin, status: int) -> None:
    r = await client.put(f"{httpbin.url}/status/{status}", content=b"x")
    assert (r.status_code, len(httpbin.seen)) == (status, 1)


async def test_response_headers(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/get")
    assert isinstance(r.headers, dialect.lib.Headers)
    assert r.headers["Content-Type"] == r.headers.get("content-type") == "application/json"
    assert (r.headers["X-Twice"], r.headers.get_list("x-twice")) == ("1, 2", ["1", "2"])
    assert set(r.headers) == {"server", "date", "content-type", "content-length", "x-twice"}
    assert (b"X-Twice", b"1") in r.headers.raw


async def test_elapsed_is_a_time(client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/delay/0.05")
    assert timedelta(milliseconds=50) <= r.elapsed < timedelta(seconds=5)
    async with client.stream("GET", f"{httpbin.url}/get") as r:
        with pytest.raises(RuntimeError, match="elapsed"):
            _ = r.elapsed
        await r.aread()
    assert r.elapsed > timedelta(0)


async def test_an_answer_knows_its_request(client: Any, httpbin: Httpbin) -> None:
    r = await client.post(f"{httpbin.url}/post", json={"a": 1})
    assert (r.request.method, str(r.request.url)) == ("POST", str(r.url))
    assert (r.http_version, r.is_closed, r.is_stream_consumed) == ("HTTP/1.1", True, True)
    assert json.loads(r.request.content) == {"a": 1}


# Streaming responses


async def test_bytes_as_they_come(client: Any, httpbin: Httpbin) -> None:
    async with client.stream("GET", f"{httpbin.url}/bytes/1000") as r:
        chunks = [chunk async for chunk in r.aiter_bytes(256)]
    assert [len(chunk) for chunk in chunks] == [256, 256, 256, 232]
    assert b"".join(chunks) == bytes(n % 256 for n in range(1000))


async def test_text_as_it_comes(client: Any, httpbin: Httpbin) -> None:
    words = {"body": "ünïcode ✓" * 9, "type": "text/plain; charset=utf-8"}
    async with client.stream("GET", f"{httpbin.url}/text", params=words) as r:
        chunks = [chunk async for chunk in r.aiter_text(10)]
    assert "".join(chunks) == words["body"]
    assert {len(chunk) for chunk in chunks[:-1]} == {10}


async def test_lines_as_they_come(client: Any, httpbin: Httpbin) -> None:
    async with client.stream("GET", f"{httpbin.url}/stream/20") as r:
        async with aclosing(r.aiter_lines()) as lines:
            found = [line async for line in lines]
    assert found == [f'{{"id": {number}}}' for number in range(20)]


async def test_line_ends_of_every_kind(client: Any, httpbin: Httpbin) -> None:
    words = {"body": "a\nb\r\nc\rd"}
    async with client.stream("GET", f"{httpbin.url}/text", params=words) as r:
        assert [line async for line in r.aiter_lines()] == ["a", "b", "c", "d"]


async def test_raw_bytes_are_not_decoded(client: Any, httpbin: Httpbin) -> None:
    async with client.stream("GET", f"{httpbin.url}/gzip") as r:
        chunks = [chunk async for chunk in r.aiter_raw()]
    assert chunks[0][:2] == b"\x1f\x8b"
    assert sum(len(chunk) for chunk in chunks) == int(r.headers["Content-Length"])


async def test_a_stream_is_read_when_its_length_is_right(
    dialect: Dialect, client: Any, httpbin: Httpbin
) -> None:
    async with client.stream("GET", f"{httpbin.url}/bytes/100") as r:
        with pytest.raises(dialect.lib.ResponseNotRead):
            _ = r.content
        if int(r.headers["Content-Length"]) < 200:
            await r.aread()
            assert len(r.content) == 100
    assert r.is_closed


@pytest.mark.parametrize("verb", ["POST", "PUT"])
async def test_the_answer_to_a_write_is_streamed(client: Any, httpbin: Httpbin, verb: str) -> None:
    async with client.stream(verb, f"{httpbin.url}/stream/3", json={}) as r:
        assert len([line async for line in r.aiter_lines()]) == 3
    async with client.stream(verb, f"{httpbin.url}/bytes/9", json={}) as r:
        assert b"".join([chunk async for chunk in r.aiter_raw()]) == bytes(range(9))


# Cookies


async def test_a_cookie_of_the_answer(client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/cookies/set?chocolate=chip")
    assert (r.status_code, r.cookies["chocolate"]) == (302, "chip")


async def test_cookies_of_ones_own(dialect: Dialect, httpbin: Httpbin) -> None:
    async with dialect.client(cookies={"peanut": "butter"}) as client:
        r = await client.get(f"{httpbin.url}/cookies")
    assert r.json() == {"cookies": {"peanut": "butter"}}


async def test_a_jar_knows_its_domains(dialect: Dialect, httpbin: Httpbin) -> None:
    cookies = dialect.lib.Cookies()
    cookies.set("cookie_on_domain", "hello, there!", domain="127.0.0.1")
    cookies.set("cookie_off_domain", "nope.", domain="example.org")
    async with dialect.client(cookies=cookies) as client:
        r = await client.get(f"{httpbin.url}/cookies")
    assert r.json() == {"cookies": {"cookie_on_domain": "hello, there!"}}


async def test_cookies_stay_with_the_client(client: Any, httpbin: Httpbin) -> None:
    await client.get(f"{httpbin.url}/cookies/set/sessioncookie/123456789")
    r = await client.get(f"{httpbin.url}/cookies")
    assert r.json() == {"cookies": {"sessioncookie": "123456789"}}
    await client.get(f"{httpbin.url}/cookies/delete?sessioncookie=")
    assert (await client.get(f"{httpbin.url}/cookies")).json() == {"cookies": {}}


# Redirection and history


async def test_redirects_are_not_followed_by_themselves(client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/redirect/1")
    assert (r.status_code, r.history, r.content) == (302, [], b"on")
    assert (r.has_redirect_location, r.is_redirect) == (True, True)
    assert (r.next_request.method, str(r.next_request.url)) == ("GET", f"{httpbin.url}/get")
    assert (await client.send(r.next_request)).status_code == 200


async def test_redirects_are_followed_when_asked(client: Any, httpbin: Httpbin) -> None:
    r = await client.get(f"{httpbin.url}/redirect/3", follow_redirects=True)
    assert (str(r.url), r.status_code) == (f"{httpbin.url}/get", 200)
    assert [each.status_code for each in r.history] == [302, 302, 302]
    assert [str(each.url)[-1] for each in r.history] == ["3", "2", "1"]
    assert (httpbin.connections, len(httpbin.seen)) == (1, 4)


async def test_redirects_of_the_client(dialect: Dialect, httpbin: Httpbin) -> None:
    async with dialect.client(follow_redirects=True, max_redirects=2) as client:
        assert (await client.get(f"{httpbin.url}/redirect/2")).status_code == 200
        assert (await client.head(f"{httpbin.url}/redirect/2")).request.method == "HEAD"
        with pytest.raises(dialect.lib.TooManyRedirects):
            await client.get(f"{httpbin.url}/redirect/3")
    assert len(httpbin.seen) == 9


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (302, "PUT", "GET"),
        (307, "PATCH", "PATCH"),
        (303, "DELETE", "GET"),
        (308, "DELETE", "DELETE"),
    ],
)
async def test_the_method_after_a_redirect(
    client: Any, httpbin: Httpbin, status: int, method: str, then: str
) -> None:
    query = {"url": "/anything", "status": str(status)}
    url = f"{httpbin.url}/redirect-to"
    r = await client.request(method, url, params=query, content="words", follow_redirects=True)
    assert (r.status_code, r.request.method) == (200, then)
    assert [each.method for each in httpbin.seen] == [method, then]
    kept = b"words" if status in (307, 308) else b""
    assert [each.body for each in httpbin.seen] == [b"words", kept]


async def test_a_redirect_to_another_host_drops_credentials(client: Any, httpbin: Httpbin) -> None:
    query = {"url": f"{httpbin.other}/headers"}
    url = f"{httpbin.url}/redirect-to"
    headers = {"Authorization": "mine", "X-Kept": "1"}
    r = await client.get(url, params=query, headers=headers, follow_redirects=True)
    told = r.json()["headers"]
    assert ("Authorization" in told, told["X-Kept"]) == (False, "1")


# Timeouts


async def test_a_timeout_of_one_request(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    with pytest.raises(dialect.lib.ReadTimeout) as caught:
        await client.post(f"{httpbin.url}/delay/0.5", timeout=0.1)
    assert caught.value.request.method == "POST"
    r = await client.get(f"{httpbin.url}/delay/0.05", timeout=None)
    assert r.status_code == 200
    assert r.request.extensions["timeout"] == dict.fromkeys(("connect", "read", "write", "pool"))


# Exceptions


async def test_what_cannot_be_asked_for(dialect: Dialect, client: Any) -> None:
    for verb in ("GET", "POST"):
        with pytest.raises(dialect.lib.UnsupportedProtocol) as caught:
            await client.request(verb, "invalid://example.com/")
        assert isinstance(caught.value, dialect.lib.TransportError)
        with pytest.raises(dialect.lib.UnsupportedProtocol):
            await client.request(verb, "/no/host")
    with pytest.raises(dialect.lib.InvalidURL):
        await client.get("https://example.com:port/")


async def test_an_error_knows_its_request(dialect: Dialect, client: Any, clock: FakeClock) -> None:
    for verb in ("GET", "POST"):
        with pytest.raises(dialect.lib.ConnectError) as caught:
            await client.request(verb, "http://127.0.0.1:1/")
        assert isinstance(caught.value, dialect.lib.RequestError)
        assert (caught.value.request.method, caught.value.request.url.port) == (verb, 1)


async def test_a_cut_connection_is_an_error_of_the_protocol(
    dialect: Dialect, client: Any, httpbin: Httpbin, clock: FakeClock
) -> None:
    for verb in ("GET", "POST"):
        with pytest.raises(dialect.lib.RemoteProtocolError):
            await client.request(verb, f"{httpbin.url}/cut")


async def test_what_is_not_gzip_is_an_error_of_decoding(
    dialect: Dialect, client: Any, httpbin: Httpbin, clock: FakeClock
) -> None:
    if (dialect.colour, dialect.way) == ("trio", "bare"):
        pytest.skip("the library leaves a generator open here, of which trio complains")
    for verb in ("GET", "POST"):
        with pytest.raises(dialect.lib.DecodingError):
            await client.request(verb, f"{httpbin.url}/not-gzip")
    assert len(httpbin.seen) == 2


# Authentication


async def test_basic_credentials(client: Any, httpbin: Httpbin) -> None:
    url = f"{httpbin.url}/basic-auth/my_user/password123"
    assert (await client.get(url)).status_code == 401
    for verb in ("GET", "POST"):
        r = await client.request(verb, url, auth=("my_user", "password123"))
        assert r.json()["user"] == "my_user"
    assert len(httpbin.seen) == 3


@pytest.mark.parametrize("verb", ["GET", "POST", "PUT"])
async def test_digest_credentials(
    dialect: Dialect, client: Any, httpbin: Httpbin, verb: str
) -> None:
    auth = dialect.lib.DigestAuth("my_user", "password123")
    url = f"{httpbin.url}/digest-auth/my_user/password123"
    r = await client.request(verb, url, auth=auth, content=b"words")
    assert (r.status_code, r.json()["data"]) == (200, "words")
    assert [each.status_code for each in r.history] == [401]
