"""The front door: what an import loads, the names, and which client `recover` takes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap

import httpx
import httpx2
import pytest

import httpx_recover
from httpx_recover import Policy, Rule, outcome, recover


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_import_loads_no_client() -> None:
    assert (
        run(
            """
            import sys, httpx_recover
            clients = {"httpx", "httpx2", "requests", "httpcore", "anyio", "ssl"}
            print(sorted(clients & set(sys.modules)))
            """
        )
        == "[]"
    )


def test_the_transports_are_loaded_when_asked_for() -> None:
    from httpx_recover import httpx as on_httpx

    assert httpx_recover.RecoverTransport is on_httpx.RecoverTransport
    assert httpx_recover.AsyncRecoverTransport is on_httpx.AsyncRecoverTransport


def test_every_name_is_there() -> None:
    for name in httpx_recover.__all__:
        assert getattr(httpx_recover, name) is not None
    assert sorted(httpx_recover.__all__) == httpx_recover.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'httpx_recover' has no attribute 'Nothing'"):
        httpx_recover.Nothing  # noqa: B018 # asking for it is the test


@pytest.mark.parametrize(
    ("asked", "library"),
    [
        ("from httpx_recover import RecoverTransport", "httpx"),
        ("from httpx_recover import AsyncRecoverTransport", "httpx"),
        ("import httpx_recover.httpx", "httpx"),
        ("import httpx_recover.httpx2", "httpx2"),
        ("import httpx_recover.requests", "requests"),
        ("from httpx_recover import RecoverAdapter", "requests"),
    ],
)
def test_a_missing_library_says_which_extra_to_install(asked: str, library: str) -> None:
    said = run(
        f"""
        import sys
        sys.modules["{library}"] = None
        try:
            {asked}
        except ImportError as missing:
            print(missing.name, missing)
        """
    )
    assert said == f'{library} {library} is not installed: pip install "httpx-recover[{library}]"'


# ------------------------------------------------------------------ recover()


class Mine(httpx.Client):
    """A client of the user's own module."""


@pytest.mark.parametrize("kind", [httpx.Client, httpx2.Client, Mine])
def test_a_sync_client_is_wrapped_in_place(kind: type[httpx.Client]) -> None:
    library = httpx2 if issubclass(kind, httpx2.Client) else httpx
    transport = library.MockTransport(lambda request: library.Response(200))
    with kind(transport=transport) as client:
        assert recover(client) is client
        assert outcome(client.get("https://api.example.com/a")) is not None


async def _aget(client: httpx.AsyncClient) -> httpx.Response:
    async with client:
        return await client.get("https://api.example.com/a")


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_an_async_client_is_wrapped_in_place(library: object) -> None:
    lib = httpx if library is httpx else httpx2
    transport = lib.MockTransport(lambda request: lib.Response(200))
    client = lib.AsyncClient(transport=transport)
    assert recover(client) is client
    assert outcome(asyncio.run(_aget(client))) is not None


def test_it_is_wrapped_once_with_one_set_of_settings() -> None:
    with httpx.Client() as client:
        recover(client, policy=Policy(attempts=2), rules=[Rule("GET /a")])
        mount = client._transport
        recover(client, policy=Policy(attempts=2), rules=[Rule("GET /a")])
        assert client._transport is mount
        with pytest.raises(ValueError, match="recovered before with other settings"):
            recover(client, policy=Policy(attempts=3), rules=[Rule("GET /a")])


@pytest.mark.parametrize(
    "thing", [None, 7, httpx.Client, object()], ids=["none", "number", "class", "object"]
)
def test_what_is_no_client_is_refused(thing: object) -> None:
    with pytest.raises(
        ValueError, match=r"client=.*: must be a client of httpx, httpx2 or requests"
    ):
        recover(thing)


@pytest.mark.parametrize("thing", [httpx.Request("GET", "https://h.example/"), httpx2.Headers()])
def test_another_thing_of_a_client_library_is_refused(thing: object) -> None:
    with pytest.raises(ValueError, match=r"client=.*must be an httpx2?\.Client"):
        recover(thing)


@pytest.mark.parametrize("wrong", [{"policy": 3}, {"rules": ["GET /a"]}])
def test_settings_that_cannot_be_meant_are_refused(wrong: dict[str, object]) -> None:
    with httpx.Client() as client, pytest.raises(ValueError, match=r"policy=3|rules: 'GET /a'"):
        recover(client, **wrong)  # type: ignore[arg-type] # that is the test
