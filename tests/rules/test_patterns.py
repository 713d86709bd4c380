"""The patterns of rules."""

from __future__ import annotations

import pytest

from httpx_recover._patterns import compile_pattern

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
    ],
)
def test_a_pattern_does_not_match(match: str, method: str, path: str, origin: str) -> None:
    assert not compile_pattern(match).matches(method, origin, path)


@pytest.mark.parametrize(
    ("match", "told"),
    [
        ("/orders", r"write '\* /orders'"),
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
