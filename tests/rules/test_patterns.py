"""The patterns of rules."""

from __future__ import annotations

from typing import Any

import httpx
import httpx2
import pytest

from httpx_recover._httpx_wire import origin_of, path_of
from httpx_recover._patterns import Pattern, compile_pattern

HERE = "https://api.example.com:443"


@pytest.mark.parametrize(
    ("match", "method", "path", "origin"),
    [
        ("*", "ANY", "/x", HERE),
        ("POST *", "POST", "/x/y", HERE),
        ("* **", "GET", "/", HERE),
        ("POST /orders", "POST", "/orders", HERE),
        ("* /a/*", "GET", "/a/b", HERE),
        ("GET /a/**", "GET", "/a", HERE),
        ("GET /a/**", "GET", "/a/b/c", HERE),
        ("GET /a/**/z", "GET", "/a/b/c/z", HERE),
        ("GET /a/*/z", "GET", "/a/b/z", HERE),
        ("GET /f\u00fc", "GET", "/f%C3%BC", HERE),
        ("GET https://api.example.com/a", "GET", "/a", HERE),
        ("GET https://API.example.com:443/a", "GET", "/a", HERE),
        ("GET https://*.example.com/**", "GET", "/a", HERE),
        ("GET http://h:8080", "GET", "/", "http://h:8080"),
        ("M-SEARCH /x", "M-SEARCH", "/x", HERE),
        ("  * ", "ANY", "/x", HERE),
        ("  POST   /orders ", "POST", "/orders", HERE),
        ("GET /a/**", "GET", "/a/", HERE),
        ("GET /a/**/z", "GET", "/a/z", HERE),
        ("GET /a**", "GET", "/abc/d", HERE),
        ("GET /**/z", "GET", "/z", HERE),
        ("GET /files/*.pdf", "GET", "/files/7.pdf", HERE),
        ("GET /f%C3%BC/*", "GET", "/f%C3%BC/7", HERE),
        ("GET HTTPS://api.example.com", "GET", "/", HERE),
        ("GET https://api.example.com/**", "GET", "/", HERE),
        ("* https://api.example.com/*", "GET", "/a", HERE),
        ("GET http://api.example.com/a", "GET", "/a", "http://api.example.com:80"),
        ("GET http://h:443/a", "GET", "/a", "http://h:443"),
        ("GET https://api-*.example.com/a", "GET", "/a", "https://api-7.example.com:443"),
    ],
)
def test_a_pattern_matches(match: str, method: str, path: str, origin: str) -> None:
    assert compile_pattern(match).matches(method, origin, path)


@pytest.mark.parametrize(
    ("match", "method", "path", "origin"),
    [
        ("POST /orders", "GET", "/orders", HERE),
        ("POST /orders", "POST", "/orders/1", HERE),
        ("* /a/*", "GET", "/a/b/c", HERE),
        ("* /a/*", "GET", "/a/", HERE),
        ("* /a.b", "GET", "/aXb", HERE),
        ("GET /a/**", "GET", "/ab", HERE),
        ("GET http://api.example.com/a", "GET", "/a", HERE),
        ("GET https://api.example.com/a", "GET", "/a", "https://evil.example.com:443"),
        ("GET https://*.example.com/a", "GET", "/a", "https://a.b.example.com:443"),
        ("GET https://*.example.com/a", "GET", "/a", "https://example.com:443"),
        ("GET https://*/a", "GET", "/a", "https://localhost:8443"),
        ("GET https://api.example.com/a", "GET", "/a", "https://api.example.com:8443"),
        ("GET https://api.example.com:8443/a", "GET", "/a", HERE),
        ("GET https://api.example.com/a", "GET", "/a", "https://apixexample.com:443"),
        ("GET https://api.example.com", "GET", "/a", HERE),
        ("POST *", "GET", "/x", HERE),
        ("POST /orders", "POST", "/orders/", HERE),
        ("POST /orders", "POST", "/v2/orders", HERE),
        ("POST /orders", "POST", "/Orders", HERE),
        ("GET /files/*.pdf", "GET", "/files/a/7.pdf", HERE),
        ("GET /a/*/z", "GET", "/a//z", HERE),
        ("GET /f\u00fc", "GET", "/fu", HERE),
    ],
)
def test_a_pattern_does_not_match(match: str, method: str, path: str, origin: str) -> None:
    assert not compile_pattern(match).matches(method, origin, path)


@pytest.mark.parametrize("match", ["*", "* *", "* **", " *\t"])
def test_every_request_needs_no_look_at_the_request(match: str) -> None:
    assert compile_pattern(match) == Pattern(None, None, None)


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("/v2/orders/*", "https://API.example.com/v2/orders/7?x=1#top"),
        ("/f\u00fc/*", "https://h.example/f\u00fc/7"),
        ("https://b\u00fccher.example/*", "https://b\u00fccher.example/7"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("https://[2001:DB8::1]/x", "https://[2001:db8::1]/x"),
        ("https://h.example:443/x", "https://h.example/x"),
        ("https://h.example", "https://h.example"),
        ("http://127.0.0.*:8000/**", "http://127.0.0.1:8000/"),
    ],
)
def test_a_pattern_matches_the_url_as_a_client_gives_it(
    library: Any, pattern: str, url: str
) -> None:
    asked = library.URL(url)
    assert compile_pattern(f"GET {pattern}").matches("GET", origin_of(asked), path_of(asked))


@pytest.mark.parametrize(
    ("match", "told"),
    [
        ("/orders", r"write '\* /orders' for every method, or one in capitals"),
        ("", "match='' has no method"),
        ("POST /orders#top", "no query, fragment or space; name a path"),
        ("POST http:///x", "or a URL that starts with 'http://' or 'https://'"),
        ("POST http://[::/x", r"match='POST http://\[::/x': .*; write a host such as \[::1\]"),
        (None, "match=None: must be text such as 'POST /orders'"),
        ("post /orders", "has no method"),
        ("POST", "has no method"),
        ("POST orders", "must be a path that starts with '/'"),
        ("POST ftp://h/x", "must be a path"),
        ("POST /orders?x=1", "no query"),
        ("POST /a b", "no query, fragment or space"),
        (7, "must be text"),
    ],
)
def test_what_is_no_pattern_says_how_to_write_one(match: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        compile_pattern(match)
