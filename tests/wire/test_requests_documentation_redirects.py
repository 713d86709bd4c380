"""The examples of requests' "Quickstart" on redirection, timeouts and errors."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import requests
from urllib3.exceptions import NewConnectionError
from urllib3.util import Timeout

from httpx_recover import UnknownOutcome
from tests.httpbin import Httpbin
from tests.sessions import without_key


def to(httpbin: Httpbin, url: str, status: int = 302, body: str = "") -> str:
    """The URL of a redirect."""
    query = {"url": url, "status": status, "body": body}
    return str(requests.Request("GET", f"{httpbin.url}/redirect-to", params=query).prepare().url)


class Pipe(io.BytesIO):
    """A file that cannot be wound back."""

    def tell(self) -> int:
        raise OSError("not seekable")


def methods(httpbin: Httpbin) -> list[str]:
    return [each.method for each in httpbin.seen]


# Redirection and history


def test_a_redirect_is_followed(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/redirect/3")
    assert (r.url, r.status_code) == (f"{httpbin.url}/get", 200)
    assert [each.status_code for each in r.history] == [302, 302, 302]
    assert [each.url for each in r.history] == [f"{httpbin.url}/redirect/{n}" for n in (3, 2, 1)]
    assert [len(each.history) for each in r.history] == [0, 1, 2]
    assert r.history[0].is_redirect and not r.history[0].is_permanent_redirect
    assert (httpbin.connections, len(httpbin.seen)) == (1, 4)


def test_a_redirect_can_be_refused(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/redirect/1", allow_redirects=False)
    assert (r.status_code, r.history, r.content) == (302, [], b"on")
    assert (r.next.method, r.next.url) == ("GET", f"{httpbin.url}/get")
    assert session.send(r.next).status_code == 200


def test_a_head_is_followed_when_asked(session: requests.Session, httpbin: Httpbin) -> None:
    stays = session.head(f"{httpbin.url}/redirect/1")
    goes = session.head(f"{httpbin.url}/redirect/1", allow_redirects=True)
    assert (stays.status_code, stays.history) == (302, [])
    assert (goes.status_code, len(goes.history)) == (200, 1)
    assert methods(httpbin) == ["HEAD"] * 3


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (301, "PUT", "PUT"),
        (302, "PUT", "GET"),
        (303, "PUT", "GET"),
        (307, "PATCH", "PATCH"),
        (303, "HEAD", "HEAD"),
        (302, "DELETE", "GET"),
        (308, "DELETE", "DELETE"),
    ],
)
def test_the_method_after_a_redirect(
    session: requests.Session, httpbin: Httpbin, status: int, method: str, then: str
) -> None:
    url = to(httpbin, "/anything", status)
    r = session.request(method, url, data="words", allow_redirects=True)
    assert (r.status_code, r.request.method) == (200, then)
    assert methods(httpbin) == [method, then]
    kept = b"words" if status in (307, 308) else b""
    assert [each.body for each in httpbin.seen] == [b"words", kept]
    assert r.history[0].is_permanent_redirect == (status in (301, 308))


def test_a_post_that_became_a_get_has_no_headers_of_a_body(
    session: requests.Session, httpbin: Httpbin
) -> None:
    session.post(to(httpbin, "/get", 303), json={"a": 1})
    names = [name for name, _ in httpbin.seen[1].headers]
    assert names == ["Host", "User-Agent", "Accept-Encoding", "Accept", "Connection"]


def test_a_file_is_sent_again_after_a_307(
    session: requests.Session, httpbin: Httpbin, tmp_path: Any
) -> None:
    (tmp_path / "file").write_bytes(b"content")
    with open(tmp_path / "file", "rb") as file:
        r = session.post(to(httpbin, "/post", 307), data=file)
    assert r.json()["data"] == "content"


def test_a_generator_is_used_up_after_a_307(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.post(to(httpbin, "/post", 307), data=(each for each in [b"a", b"b"]))
    assert r.json()["data"] == ""
    assert [each.body for each in httpbin.seen] == [b"ab", b""]


def test_a_pipe_cannot_be_sent_again_after_a_307(
    session: requests.Session, httpbin: Httpbin
) -> None:
    with pytest.raises(requests.exceptions.UnrewindableBodyError):
        session.post(to(httpbin, "/post", 307), data=Pipe(b"once"))
    assert [each.body for each in httpbin.seen] == [b"once"]


def test_too_many_redirects(session: requests.Session, httpbin: Httpbin) -> None:
    session.max_redirects = 3
    with pytest.raises(requests.TooManyRedirects, match="Exceeded 3 redirects") as caught:
        session.get(f"{httpbin.url}/redirect/9")
    assert caught.value.response.status_code == 302
    assert len(httpbin.seen) == 4


def test_a_loop_of_redirects_ends(session: requests.Session, httpbin: Httpbin) -> None:
    with pytest.raises(requests.TooManyRedirects):
        session.get(to(httpbin, to(httpbin, "/redirect/40")))
    assert len(httpbin.seen) == 31


def test_a_fragment_is_inherited(session: requests.Session, httpbin: Httpbin) -> None:
    assert session.get(f"{httpbin.url}/redirect/1#here").url == f"{httpbin.url}/get#here"
    there = session.get(to(httpbin, "/get#there") + "#here")
    assert there.url == f"{httpbin.url}/get#there"


def test_the_body_of_a_redirect_is_kept(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(to(httpbin, "/get", 301, "moved"))
    assert r.history[0].content == b"moved"


def test_a_redirect_without_scheme_or_host(session: requests.Session, httpbin: Httpbin) -> None:
    bare = httpbin.url.removeprefix("http:")
    assert session.get(to(httpbin, f"{bare}/get?x=1")).url == f"{httpbin.url}/get?x=1"
    assert session.get(to(httpbin, "get")).url == f"{httpbin.url}/get"


def test_another_host_gets_no_authorization(session: requests.Session, httpbin: Httpbin) -> None:
    headers = {"Authorization": "Bearer secret", "X-Other": "stays"}
    r = session.get(to(httpbin, f"{httpbin.other}/headers"), headers=headers)
    assert "Authorization" not in r.json()["headers"]
    assert r.json()["headers"]["X-Other"] == "stays"
    assert r.json()["headers"]["Host"] == f"localhost:{httpbin.port}"
    assert httpbin.seen[0].header("Authorization") == "Bearer secret"


def test_the_same_host_gets_the_authorization(session: requests.Session, httpbin: Httpbin) -> None:
    headers = {"Authorization": "Bearer secret"}
    assert "Authorization" in session.get(to(httpbin, "/headers"), headers=headers).text
    r = session.get(to(httpbin, "/basic-auth/user/pass"), auth=("user", "pass"))
    assert r.status_code == 200


def test_cookies_of_a_redirect_are_sent_on(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/cookies/set/a/b")
    assert r.json() == {"cookies": {"a": "b"}}
    assert r.history[0].cookies.get_dict() == {"a": "b"}
    assert r.cookies.get_dict() == {}


def test_a_streamed_redirect_ends_in_a_stream(session: requests.Session, httpbin: Httpbin) -> None:
    with session.get(f"{httpbin.url}/redirect/2", stream=True) as r:
        assert (r.raw.closed, len(r.history)) == (False, 2)
        assert r.json()["method"] == "GET"


def test_a_redirect_to_an_unknown_scheme(session: requests.Session, httpbin: Httpbin) -> None:
    with pytest.raises(requests.exceptions.InvalidSchema):
        session.get(to(httpbin, "gopher://127.0.0.1/"))


def test_the_request_of_an_answer_is_the_last_one(
    session: requests.Session, httpbin: Httpbin
) -> None:
    r = session.post(to(httpbin, "/get"), data="x")
    assert (r.request.method, r.request.body) == ("GET", None)
    first = r.history[0].request
    assert (first.method, first.body) == ("POST", "x")
    assert "Content-Length" not in without_key(dict(r.request.headers))


# Timeouts


@pytest.fixture
def silent() -> Iterator[str]:
    """A host that lets nobody in: its queue is full."""
    with ExitStack() as open_ones:
        listening = open_ones.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            waiting = open_ones.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    "timeout", [0.05, (1, 0.05), (None, 0.05), Timeout(connect=1, read=0.05), Timeout(total=0.05)]
)
def test_an_answer_that_takes_too_long(
    session: requests.Session, httpbin: Httpbin, timeout: Any
) -> None:
    with pytest.raises(requests.exceptions.ReadTimeout, match="Read timed out") as caught:
        session.get(f"{httpbin.url}/delay/0.3", timeout=timeout)
    assert isinstance(caught.value, requests.Timeout)
    assert not isinstance(caught.value, requests.ConnectionError)
    assert caught.value.request.url == f"{httpbin.url}/delay/0.3"
    assert caught.value.response is None


@pytest.mark.parametrize("timeout", [5, (3.05, 27), (None, 5), None])
def test_an_answer_in_time(session: requests.Session, httpbin: Httpbin, timeout: Any) -> None:
    assert session.get(f"{httpbin.url}/delay/0.01", timeout=timeout).status_code == 200


@pytest.mark.parametrize("timeout", [(1, 2, 3), "soon", -1, (3, 0)])
def test_what_is_no_timeout(session: requests.Session, httpbin: Httpbin, timeout: Any) -> None:
    with pytest.raises(ValueError, match=r"[Tt]imeout"):
        session.get(f"{httpbin.url}/get", timeout=timeout)
    assert httpbin.seen == []


@pytest.mark.usefixtures("clock")
def test_a_host_that_lets_nobody_in(session: requests.Session, silent: str) -> None:
    with pytest.raises(requests.exceptions.ConnectTimeout) as caught:
        session.get(silent, timeout=(0.05, 5))
    assert isinstance(caught.value, requests.ConnectionError)
    assert isinstance(caught.value, requests.Timeout)


def test_a_post_that_takes_too_long(session: requests.Session, httpbin: Httpbin) -> None:
    with pytest.raises(requests.exceptions.ReadTimeout) as caught:
        session.post(f"{httpbin.url}/delay/0.3", timeout=0.05)
    assert (caught.value.request.method, caught.value.response) == ("POST", None)
    assert "Read timed out" in str(own(caught.value))
    assert len(httpbin.seen) == 1


# Errors and exceptions


def own(error: BaseException) -> BaseException:
    """What requests itself raised: the error, or what stands behind ours."""
    return (error.__cause__ or error) if isinstance(error, UnknownOutcome) else error


@pytest.fixture
def closed() -> str:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/"


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("verb", ["get", "post"])
def test_nobody_listens(session: requests.Session, closed: str, verb: str) -> None:
    shown = r"HTTPConnectionPool\(host='127.0.0.1', port=\d+\): Max retries exceeded"
    with pytest.raises(requests.exceptions.ConnectionError, match=shown) as caught:
        session.request(verb, closed)
    assert type(caught.value) is requests.exceptions.ConnectionError
    assert isinstance(caught.value.args[0].reason, NewConnectionError)
    assert caught.value.request.url == closed


@pytest.mark.usefixtures("clock")
def test_a_name_that_nobody_has(session: requests.Session) -> None:
    with pytest.raises(requests.exceptions.ConnectionError, match="esolv"):
        session.get("http://nobody.invalid/")


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("verb", ["get", "put", "post"])
def test_a_connection_that_is_cut(session: requests.Session, httpbin: Httpbin, verb: str) -> None:
    with pytest.raises(requests.exceptions.ConnectionError) as caught:
        session.request(verb, f"{httpbin.url}/cut")
    assert caught.value.request.method == verb.upper()
    assert own(caught.value).args[0].args[0] == "Connection aborted."


@pytest.mark.usefixtures("clock")
def test_an_answer_that_is_cut(session: requests.Session, httpbin: Httpbin) -> None:
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        session.get(f"{httpbin.url}/chunks-cut")


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("verb", ["get", "put", "post"])
def test_an_answer_shorter_than_it_says(
    session: requests.Session, httpbin: Httpbin, verb: str
) -> None:
    with pytest.raises(requests.exceptions.ChunkedEncodingError, match="IncompleteRead") as caught:
        session.request(verb, f"{httpbin.url}/half")
    assert type(caught.value) is requests.exceptions.ChunkedEncodingError


@pytest.mark.usefixtures("clock")
def test_a_body_that_fails_by_itself(session: requests.Session, httpbin: Httpbin) -> None:
    def broken() -> Iterator[bytes]:
        yield b"first"
        raise ArithmeticError("of the caller")

    with pytest.raises(ArithmeticError, match="of the caller"):
        session.post(f"{httpbin.url}/post", data=broken())


def test_a_stream_that_is_cut(session: requests.Session, httpbin: Httpbin) -> None:
    with session.get(f"{httpbin.url}/chunks-cut", stream=True) as r:
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            list(r.iter_content(None))
    assert len(httpbin.seen) == 1


@pytest.mark.usefixtures("clock")
def test_an_answer_that_cannot_be_decoded(session: requests.Session, httpbin: Httpbin) -> None:
    with pytest.raises(requests.exceptions.ContentDecodingError):
        session.get(f"{httpbin.url}/not-gzip")


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("127.0.0.1/get", requests.exceptions.MissingSchema),
        ("localhost:80/get", requests.exceptions.InvalidSchema),
        ("ftp://127.0.0.1/get", requests.exceptions.InvalidSchema),
        ("http://", requests.exceptions.InvalidURL),
        ("http://*.example.com", requests.exceptions.InvalidURL),
        ("http://127.0.0.1:99999/", requests.exceptions.InvalidURL),
    ],
)
def test_what_is_no_url(session: requests.Session, url: str, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        session.get(url)
    assert isinstance(caught.value, requests.RequestException)


@pytest.mark.parametrize("headers", [{"X-A": 1}, {"X-A": "a\r\nX-B: b"}, {" X-A": "a"}])
def test_what_is_no_header(session: requests.Session, httpbin: Httpbin, headers: Any) -> None:
    with pytest.raises(requests.exceptions.InvalidHeader):
        session.get(f"{httpbin.url}/get", headers=headers)
    assert httpbin.seen == []


def test_what_is_no_json(session: requests.Session, httpbin: Httpbin) -> None:
    with pytest.raises(requests.exceptions.InvalidJSONError):
        session.post(f"{httpbin.url}/post", json={"a": float("nan")})
    assert httpbin.seen == []
