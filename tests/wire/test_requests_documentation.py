"""The examples of requests' own documentation, "Quickstart", with us underneath and without."""

from __future__ import annotations

import codecs
import io
import json
from datetime import timedelta
from pathlib import Path

import pytest
import requests
from requests.structures import CaseInsensitiveDict

from tests.httpbin import Httpbin
from tests.sessions import without_key

CSV = "some,data,to,send\nanother,row,to,send\n"


# Make a request


@pytest.mark.parametrize("verb", ["get", "post", "put", "patch", "delete"])
def test_every_verb_is_a_method(session: requests.Session, httpbin: Httpbin, verb: str) -> None:
    r = getattr(session, verb)(f"{httpbin.url}/{verb}")
    assert r.status_code == 200
    assert r.json()["method"] == verb.upper()
    assert [each.method for each in httpbin.seen] == [verb.upper()]


def test_a_head_has_headers_and_no_body(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.head(f"{httpbin.url}/get")
    assert (r.status_code, r.content) == (200, b"")
    assert int(r.headers["Content-Length"]) > 0
    assert httpbin.seen[0].method == "HEAD"


def test_options(session: requests.Session, httpbin: Httpbin) -> None:
    assert session.options(f"{httpbin.url}/get").json()["method"] == "OPTIONS"


def test_a_verb_of_ones_own(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.request("MKCOL", f"{httpbin.url}/anything", data="x")
    assert (r.json()["method"], r.json()["data"]) == ("MKCOL", "x")


def test_what_a_get_sends_by_itself(session: requests.Session, httpbin: Httpbin) -> None:
    session.get(f"{httpbin.url}/get")
    assert [name for name, _ in httpbin.seen[0].headers] == [
        "Host",
        "User-Agent",
        "Accept-Encoding",
        "Accept",
        "Connection",
    ]
    assert httpbin.seen[0].header("User-Agent") == requests.utils.default_user_agent()


def test_what_a_post_sends_by_itself(session: requests.Session, httpbin: Httpbin) -> None:
    session.post(f"{httpbin.url}/post", data={"key": "value"})
    assert list(without_key(dict(httpbin.seen[0].headers))) == [
        "Host",
        "User-Agent",
        "Accept-Encoding",
        "Accept",
        "Connection",
        "Content-Length",
        "Content-Type",
    ]


# Passing parameters in URLs


def test_parameters_in_the_url(session: requests.Session, httpbin: Httpbin) -> None:
    payload = {"key1": "value1", "key2": "value2"}
    r = session.get(f"{httpbin.url}/get", params=payload)
    assert r.url == f"{httpbin.url}/get?key1=value1&key2=value2"
    assert r.json()["args"] == payload


def test_a_list_as_a_parameter(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/get", params={"key1": "value1", "key2": ["value2", "value3"]})
    assert r.url == f"{httpbin.url}/get?key1=value1&key2=value2&key2=value3"
    assert r.json()["args"]["key2"] == ["value2", "value3"]


def test_none_is_no_parameter(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/get", params={"key1": None, "key2": "a b&c"})
    assert r.url == f"{httpbin.url}/get?key2=a+b%26c"
    assert r.json()["args"] == {"key2": "a b&c"}


def test_parameters_are_added_to_a_query(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/get?a=1#part", params={"b": "2"})
    assert r.url == f"{httpbin.url}/get?a=1&b=2#part"
    assert r.json()["target"] == "/get?a=1&b=2"


# Response content


def test_text_is_decoded_as_the_header_says(session: requests.Session, httpbin: Httpbin) -> None:
    words = {"body": "ünïcode ✓", "type": "text/plain; charset=utf-8"}
    r = session.get(f"{httpbin.url}/text", params=words)
    assert (r.encoding, r.text) == ("utf-8", "ünïcode ✓")


def test_text_without_a_charset_is_latin(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/text", params={"body": "é", "type": "text/html"})
    assert (r.encoding, r.text) == ("ISO-8859-1", "Ã©")
    assert r.apparent_encoding.lower().startswith("utf")
    r.encoding = "utf-8"
    assert r.text == "é"


def loud(data: bytes, errors: str = "strict") -> tuple[str, int]:
    return bytes(data).decode().upper(), len(data)


def find(name: str) -> codecs.CodecInfo | None:
    return codecs.CodecInfo(codecs.utf_8_encode, loud, name="loud") if name == "loud" else None


def test_an_encoding_of_ones_own(session: requests.Session, httpbin: Httpbin) -> None:
    codecs.register(find)
    r = session.get(f"{httpbin.url}/text", params={"body": "quiet"})
    r.encoding = "loud"
    assert r.text == "QUIET"
    codecs.unregister(find)


def test_binary_content(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/bytes/1024")
    assert io.BytesIO(r.content).read(3) == b"\x00\x01\x02"
    assert len(r.content) == 1024


def test_gzip_is_unpacked(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/gzip")
    assert r.headers["Content-Encoding"] == "gzip"
    assert r.json() == {"gzipped": True}


def test_json_content(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/get")
    assert r.json() == json.loads(r.text) == json.loads(r.content)


@pytest.mark.parametrize("path", ["/status/204", "/text?body=not+json"])
def test_what_is_not_json(session: requests.Session, httpbin: Httpbin, path: str) -> None:
    r = session.get(f"{httpbin.url}{path}")
    with pytest.raises(requests.exceptions.JSONDecodeError):
        r.json()
    with pytest.raises(ValueError, match="line 1"):
        r.json()


def test_json_of_a_failure_is_json(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/status/400")
    assert r.json() == {"code": "400"}


# Raw response content


def test_the_raw_response(session: requests.Session, httpbin: Httpbin) -> None:
    with session.get(f"{httpbin.url}/bytes/100", stream=True) as r:
        assert type(r.raw).__module__.startswith("urllib3")
        assert r.raw.read(10) == bytes(range(10))
        assert r.raw.read(10) == bytes(range(10, 20))
        assert len(r.raw.read()) == 80


def test_the_raw_response_is_not_decoded(session: requests.Session, httpbin: Httpbin) -> None:
    with session.get(f"{httpbin.url}/gzip", stream=True) as r:
        assert r.raw.read(2) == b"\x1f\x8b"


def test_saving_to_a_file(session: requests.Session, httpbin: Httpbin, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    with session.get(f"{httpbin.url}/bytes/5000", stream=True) as r:
        with open(saved, "wb") as file:
            for chunk in r.iter_content(chunk_size=128):
                assert len(chunk) <= 128
                file.write(chunk)
    assert saved.read_bytes() == bytes(n % 256 for n in range(5000))


def test_iter_content_unpacks(session: requests.Session, httpbin: Httpbin) -> None:
    with session.get(f"{httpbin.url}/gzip", stream=True) as r:
        assert json.loads(b"".join(r.iter_content(4))) == {"gzipped": True}


def test_content_after_a_read_is_kept(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/bytes/10")
    assert b"".join(r.iter_content(3)) == r.content == bytes(range(10))
    assert b"".join(r) == r.content


def test_a_consumed_stream_is_gone(session: requests.Session, httpbin: Httpbin) -> None:
    with session.get(f"{httpbin.url}/bytes/10", stream=True) as r:
        assert len(list(r.iter_content(1))) == 10
        with pytest.raises(RuntimeError):
            _ = r.content


# Custom headers


def test_custom_headers(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/headers", headers={"user-agent": "my-app/0.0.1", "X-B": b"b"})
    assert r.json()["headers"]["user-agent"] == "my-app/0.0.1"
    assert r.json()["headers"]["X-B"] == "b"


def test_auth_is_stronger_than_a_header(session: requests.Session, httpbin: Httpbin) -> None:
    headers = {"Authorization": "mine"}
    r = session.get(f"{httpbin.url}/basic-auth/user/pass", headers=headers, auth=("user", "pass"))
    assert r.status_code == 200


def test_a_length_of_ones_own_is_corrected(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.post(f"{httpbin.url}/post", data="four", headers={"Content-Length": "99"})
    assert (r.json()["data"], r.json()["headers"]["Content-Length"]) == ("four", "4")


# More complicated POST requests


def test_a_form(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.post(f"{httpbin.url}/post", data={"key1": "value1", "key2": "value2"})
    assert r.json()["form"] == {"key1": "value1", "key2": "value2"}


def test_a_form_with_a_name_twice(session: requests.Session, httpbin: Httpbin) -> None:
    r1 = session.post(f"{httpbin.url}/post", data=[("key1", "value1"), ("key1", "value2")])
    r2 = session.post(f"{httpbin.url}/post", data={"key1": ["value1", "value2"]})
    assert r1.json()["form"] == r2.json()["form"] == {"key1": ["value1", "value2"]}


def test_a_string_is_sent_as_it_is(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.post(f"{httpbin.url}/post", data=json.dumps({"some": "data"}))
    assert r.json()["data"] == '{"some": "data"}'
    assert "Content-Type" not in r.json()["headers"]


def test_a_string_is_sent_in_utf8(session: requests.Session, httpbin: Httpbin) -> None:
    session.post(f"{httpbin.url}/post", data="é")
    session.put(f"{httpbin.url}/put", data=bytearray(b"bytes"))
    assert [each.body for each in httpbin.seen] == ["é".encode(), b"bytes"]


def test_json_is_encoded(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.post(f"{httpbin.url}/post", json={"some": "data"})
    assert r.json()["json"] == {"some": "data"}
    assert r.json()["headers"]["Content-Type"] == "application/json"


def test_json_beside_data_is_ignored(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.post(f"{httpbin.url}/post", data={"a": "b"}, json={"some": "data"})
    assert r.json()["form"] == {"a": "b"}


@pytest.mark.parametrize("verb", ["put", "patch", "delete"])
def test_other_verbs_carry_a_body(session: requests.Session, httpbin: Httpbin, verb: str) -> None:
    r = session.request(verb, f"{httpbin.url}/anything", json={"a": 1})
    assert r.json()["json"] == {"a": 1}


# POST a multipart-encoded file


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.xls"
    path.write_text("cells")
    return path


def test_a_file(session: requests.Session, httpbin: Httpbin, report: Path) -> None:
    with open(report, "rb") as file:
        r = session.post(f"{httpbin.url}/post", files={"file": file})
    (part,) = r.json()["files"]
    assert (part["name"], part["filename"], part["content"]) == ("file", "report.xls", "cells")


def test_a_file_with_everything(session: requests.Session, httpbin: Httpbin, report: Path) -> None:
    with open(report, "rb") as file:
        told = ("other.xls", file, "application/vnd.ms-excel", {"Expires": "0"})
        r = session.post(f"{httpbin.url}/post", files={"file": told})
    assert r.json()["files"] == [
        {
            "name": "file",
            "filename": "other.xls",
            "type": "application/vnd.ms-excel",
            "expires": "0",
            "content": "cells",
        }
    ]


def test_a_string_as_a_file(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.post(f"{httpbin.url}/post", files={"file": ("report.csv", CSV)})
    (part,) = r.json()["files"]
    assert (part["filename"], part["content"]) == ("report.csv", CSV)


def test_a_file_beside_a_form(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.post(f"{httpbin.url}/post", data={"a": "b"}, files={"file": ("x", b"y")})
    assert r.json()["form"] == {"a": "b"}
    assert r.json()["files"][0]["content"] == "y"


# Response status codes, headers


def test_status_codes(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/get")
    assert r.status_code == requests.codes.ok == requests.codes["\\o/"]
    assert (r.ok, bool(r), r.reason, repr(r)) == (True, True, "OK", "<Response [200]>")
    assert r.raise_for_status() is None


def test_a_missing_page_is_an_answer(session: requests.Session, httpbin: Httpbin) -> None:
    bad = session.get(f"{httpbin.url}/status/404")
    assert (bad.status_code, bad.ok) == (requests.codes.not_found, False)
    with pytest.raises(requests.HTTPError, match="404 Client Error: Not Found for url") as caught:
        bad.raise_for_status()
    assert caught.value.response is bad
    assert caught.value.request is bad.request
    assert len(httpbin.seen) == 1


@pytest.mark.parametrize("status", [400, 401, 402, 403, 405, 409, 410, 418, 422, 501])
def test_a_final_failure_is_sent_once(
    session: requests.Session, httpbin: Httpbin, status: int
) -> None:
    assert session.get(f"{httpbin.url}/status/{status}").status_code == status
    assert session.post(f"{httpbin.url}/status/{status}").status_code == status
    assert len(httpbin.seen) == 2


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_an_answer_in_the_end(
    session: requests.Session, httpbin: Httpbin, status: int
) -> None:
    r = session.get(f"{httpbin.url}/status/{status}")
    assert (r.status_code, r.json()) == (status, {"code": str(status)})
    with pytest.raises(requests.HTTPError, match=str(status)):
        r.raise_for_status()


@pytest.mark.parametrize("status", [201, 202, 203, 204, 206, 207, 304])
def test_other_answers_pass(session: requests.Session, httpbin: Httpbin, status: int) -> None:
    r = session.put(f"{httpbin.url}/status/{status}", data=b"x")
    assert (r.status_code, len(httpbin.seen)) == (status, 1)


def test_response_headers(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/get")
    assert isinstance(r.headers, CaseInsensitiveDict)
    assert r.headers["content-TYPE"] == r.headers.get("content-type") == "application/json"
    assert r.headers["X-Twice"] == "1, 2"
    assert set(r.headers) == {"Server", "Date", "Content-Type", "Content-Length", "X-Twice"}


def test_elapsed_is_a_time(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/delay/0.05")
    assert timedelta(milliseconds=50) <= r.elapsed < timedelta(seconds=5)


# Cookies


def test_a_cookie_of_the_answer(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/cookies/set/name/value", allow_redirects=False)
    assert r.cookies["name"] == "value"
    assert isinstance(r.cookies, requests.cookies.RequestsCookieJar)


def test_cookies_of_ones_own(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/cookies", cookies={"cookies_are": "working"})
    assert r.json() == {"cookies": {"cookies_are": "working"}}


def test_a_jar_knows_its_paths(session: requests.Session, httpbin: Httpbin) -> None:
    jar = requests.cookies.RequestsCookieJar()
    jar.set("tasty_cookie", "yum", domain="127.0.0.1", path="/cookies")
    jar.set("gross_cookie", "blech", domain="127.0.0.1", path="/elsewhere")
    r = session.get(f"{httpbin.url}/cookies", cookies=jar)
    assert r.json() == {"cookies": {"tasty_cookie": "yum"}}
