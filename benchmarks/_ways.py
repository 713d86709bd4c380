"""The ways of making calls that `duplicates.py` compares.

All have the same timeouts, as many attempts (three or four) as they are mostly given, and waits
of 0.05 s and a little more, unless the server names a wait and the library heeds it. Each is
built by a function that is given the URL to post to and returns a `Client`; it imports what it
needs, so that a library that is missing costs only its own rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from httpx_recover import Policy, Rule, verify
from httpx_recover._demo._server import READ_TIMEOUT

CONNECT_TIMEOUT = 5.0
WAIT = 0.05
STATUSES = (429, 500, 502, 503, 504)

# `settle` outlasts the server's late bookings (0.25 s after a failure) by half a second, which
# is what makes an absence seen after it a proof. A real API needs a figure of its own here.
POLICY = Policy(backoff=(WAIT, 2 * WAIT), jitter=0.02, settle=0.75)
NOTHING: tuple[Rule, ...] = ()
TRUSTED = (Rule("POST /*/orders", dedupes=True),)
VERIFIED = (Rule("POST /*/orders", verify=verify.found("?ref={json.ref}")),)

Order = dict[str, Any]


class Client(NamedTuple):
    """How an order is posted, which errors that may raise, and how to close what did it."""

    post: Callable[[Order], Any]
    errors: type[Exception]
    close: Callable[[], None]


class Way(NamedTuple):
    """One row: its name, how its client is built, and where it posts to."""

    name: str
    build: Callable[[str], Client]
    ours: bool = False
    keyed: bool = False  # its server dedupes by key

    @property
    def path(self) -> str:
        """The name of its own book on the server."""
        name = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        return f"keyed-{name}" if self.keyed else name


def over_httpx(url: str, transport: Any = None, headers: Any = None) -> Client:
    """An httpx client over a transport; `headers` makes an order's own."""
    import httpx

    timeout = httpx.Timeout(CONNECT_TIMEOUT, read=READ_TIMEOUT)
    client = httpx.Client(transport=transport, timeout=timeout, trust_env=False)

    def post(order: Order) -> httpx.Response:
        made = headers(order) if headers else None
        return client.post(url, json=order, headers=made).raise_for_status()

    return Client(post, httpx.HTTPError, client.close)


def over_requests(url: str, adapter: Any = None) -> Client:
    """A session of requests, with an adapter for http."""
    import requests

    session = requests.Session()
    session.trust_env = False
    if adapter is not None:
        session.mount("http://", adapter)

    def post(order: Order) -> requests.Response:
        response = session.post(url, json=order, timeout=(CONNECT_TIMEOUT, READ_TIMEOUT))
        response.raise_for_status()
        return response

    return Client(post, requests.RequestException, session.close)


def httpx_retries(url: str, keyed: bool = False, **retry: Any) -> Client:
    """httpx-retries' transport; with `keyed` each order has a key, set by hand."""
    from httpx_retries import Retry, RetryTransport

    headers = (lambda order: {"Idempotency-Key": order["ref"]}) if keyed else None
    return over_httpx(url, RetryTransport(retry=Retry(**retry)), headers)


def urllib3_retry(url: str, **retry: Any) -> Client:
    """requests' own adapter with urllib3's Retry."""
    from requests.adapters import HTTPAdapter
    from urllib3 import Retry

    return over_requests(url, HTTPAdapter(max_retries=Retry(backoff_factor=WAIT, **retry)))


def tenacity(url: str) -> Client:
    """tenacity around a call of httpx, as it is mostly used."""
    from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

    bare = over_httpx(url)
    again = retry(
        stop=stop_after_attempt(3),
        wait=wait_exponential(multiplier=WAIT),
        retry=retry_if_exception_type(bare.errors),
        reraise=True,
    )
    return bare._replace(post=again(bare.post))


def stamina(url: str) -> Client:
    """stamina around a call of httpx."""
    from stamina import retry

    bare = over_httpx(url)
    again = retry(on=bare.errors, attempts=3, wait_initial=WAIT, wait_jitter=WAIT)
    return bare._replace(post=again(bare.post))


def retryhttp(url: str) -> Client:
    """retryhttp's decorator around a call of httpx."""
    from retryhttp import retry
    from tenacity import wait_exponential

    bare, wait = over_httpx(url), wait_exponential(multiplier=WAIT)
    again = retry(
        wait_server_errors=wait, wait_network_errors=wait, wait_timeouts=wait, reraise=True
    )
    return bare._replace(post=again(bare.post))


def pydantic_ai(url: str) -> Client:
    """pydantic-ai's transport under httpx2, set up as its documentation does, and for lost
    connections too."""
    import httpx2
    from pydantic_ai.retries import HTTPX2TenacityTransport, RetryConfig, wait_retry_after
    from tenacity import retry_if_exception_type, stop_after_attempt, wait_exponential

    config = RetryConfig(
        retry=retry_if_exception_type(httpx2.HTTPError),
        wait=wait_retry_after(fallback_strategy=wait_exponential(multiplier=WAIT)),
        stop=stop_after_attempt(3),
        reraise=True,
    )
    transport = HTTPX2TenacityTransport(
        config,
        wrapped=httpx2.HTTPTransport(trust_env=False),
        validate_response=lambda response: response.raise_for_status(),
    )
    timeout = httpx2.Timeout(CONNECT_TIMEOUT, read=READ_TIMEOUT)
    client = httpx2.Client(transport=transport, timeout=timeout, trust_env=False)
    return Client(lambda order: client.post(url, json=order), httpx2.HTTPError, client.close)


def ours_httpx(url: str, rules: tuple[Rule, ...]) -> Client:
    """Our transport under httpx."""
    from httpx_recover import RecoverTransport

    return over_httpx(url, RecoverTransport(policy=POLICY, rules=rules, trust_env=False))


def ours_requests(url: str, rules: tuple[Rule, ...]) -> Client:
    """Our adapter under requests."""
    from httpx_recover.requests import RecoverAdapter

    return over_requests(url, RecoverAdapter(policy=POLICY, rules=rules))


def with_post(**more: Any) -> dict[str, Any]:
    """httpx-retries allowed to send a POST again."""
    return {"total": 3, "backoff_factor": WAIT, "allowed_methods": ("GET", "PUT", "POST"), **more}


RIVALS = (
    Way("bare httpx", over_httpx),
    Way("bare requests", over_requests),
    Way("httpx-retries", httpx_retries),
    Way("httpx-retries, POST allowed", partial(httpx_retries, **with_post())),
    Way(
        "httpx-retries, POST, own key",
        partial(httpx_retries, **with_post(keyed=True)),
        keyed=True,
    ),
    Way("urllib3 Retry(3)", partial(urllib3_retry, total=3)),
    Way(
        "urllib3 Retry(3), all methods",
        partial(urllib3_retry, total=3, allowed_methods=None, status_forcelist=STATUSES),
    ),
    Way("tenacity", tenacity),
    Way("stamina", stamina),
    Way("retryhttp", retryhttp),
    Way("pydantic-ai", pydantic_ai),
)
OURS = tuple(
    Way(f"httpx_recover, {library}, {what}", partial(build, rules=rules), True, rules is TRUSTED)
    for library, build in (("httpx", ours_httpx), ("requests", ours_requests))
    for what, rules in (
        ("no evidence", NOTHING),
        ("trusted key", TRUSTED),
        ("verifier", VERIFIED),
    )
)
WAYS = RIVALS + OURS
