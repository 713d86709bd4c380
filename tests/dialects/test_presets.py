"""Presets are data: each row has its source, a file of your own is enough, and a typo is named."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import httpx_recover
from httpx_recover import Applied, FailureClass, explain
from httpx_recover._presets import _REMEMBERED, Presets, presets_of
from httpx_recover.dialects import Dialect, dialects_of, wants_body
from httpx_recover.dialects._partial import failed_items

FILES = sorted((Path(httpx_recover.__file__).parent / "dialects" / "apis").glob("*.toml"))
KNOWN = presets_of()
ASKED_FOR = (
    "stripe paypal square adyen braintree shopify-rest shopify-graphql twilio slack discord "
    "telegram meta whatsapp zendesk hubspot salesforce notion linear airtable jira x reddit "
    "github gitlab openai anthropic gemini google azure-arm azure-data azure-communication aws "
    "dynamodb sqs elasticsearch cloudflare-api cloudflare-edge huggingface groq "
)

OWN = """
[orders]
hosts = ["orders.example.com"]
sources.wiki = { at = "our wiki, page Orders", read = 2026-12-01, mark = "P" }
[[orders.wait]]
header = "x-wait-ms"
unit = "ms"
source = "wiki"
[[orders.class]]
is = "rate_limit"
status = 400
code = "BUSY"
source = "wiki"
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "orders.toml"
    path.write_text(OWN.strip())
    return path


# ------------------------------------------------------------------ the package's own


@pytest.mark.parametrize("name", ASKED_FOR.split())
def test_the_api_is_known(name: str) -> None:
    assert KNOWN.named(name).facts()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_fact_of_a_file_says_where_and_when_it_was_read(path: Path) -> None:
    found = dialects_of(tomllib.loads(path.read_text()), path.name)
    assert found
    for dialect in found:
        for fact in dialect.facts():
            assert fact.source.at and fact.source.mark in "PS"
            assert date(2026, 12, 1) <= date.fromisoformat(fact.source.read)
        assert dialect.file == path.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_has_no_source_without_a_fact(path: Path) -> None:
    for name, table in tomllib.loads(path.read_text()).items():
        rows = [row for rows in table.values() if isinstance(rows, list) for row in rows]
        used = {row["source"] for row in rows if isinstance(row, dict)}
        assert used == set(table.get("sources", {})), name


def test_a_file_keeps_to_the_width_of_the_code() -> None:
    long = [line for path in FILES for line in path.read_text().splitlines() if len(line) > 100]
    assert FILES and long == []


def test_no_name_is_used_twice() -> None:
    names = [name for each in KNOWN for name in (each.name, *each.also)]
    assert len(names) == len(set(names)) > 60


def test_a_promise_rests_on_a_primary_source() -> None:
    promised = [
        (each.name, fact.source.mark)
        for each in KNOWN
        for fact in each.classes
        if fact.applied is Applied.NO
    ]
    assert promised == [("neon", "P"), ("twilio", "P")]


def test_records_are_frozen_and_small() -> None:
    stripe = KNOWN.named("stripe")
    with pytest.raises(AttributeError):
        stripe.name = "other"  # type: ignore[misc] # that is the test
    for each in (stripe, *stripe.facts(), stripe.keys[0].source):
        assert not hasattr(each, "__dict__")
    assert pickle.loads(pickle.dumps(stripe)) == stripe


# ------------------------------------------------------------------ by host and by name


@pytest.mark.parametrize(
    ("host", "path", "names"),
    [
        ("api.stripe.com", "/v1/charges", ["stripe"]),
        ("api.example.com", "/", []),
        ("", "/", []),
        ("dynamodb.eu-west-1.amazonaws.com", "/", ["dynamodb", "aws"]),
        ("ec2.amazonaws.com", "/", ["aws"]),
        ("bucket.s3.eu-west-1.amazonaws.com", "/", ["aws"]),
        ("amazonaws.com", "/", []),
        ("evil-amazonaws.com", "/", []),
        ("api.stripe.com.evil.example", "/", []),
        ("generativelanguage.googleapis.com", "/", ["gemini", "google"]),
        ("a.myshopify.com", "/admin/api/2026-04/graphql.json", ["shopify-graphql", "shopify-rest"]),
        ("a.myshopify.com", "/admin/api/2026-04/orders.json", ["shopify-rest"]),
    ],
)
def test_an_api_is_found_by_its_host(host: str, path: str, names: list[str]) -> None:
    assert [each.name for each in KNOWN.at(host, path)] == [*names, "cloudflare-edge"]


def test_a_known_host_is_one_lookup() -> None:
    first = KNOWN.at("api.stripe.com", "/v1/charges")
    assert KNOWN.at("api.stripe.com", "/v1/refunds") is first
    assert KNOWN.at("unknown.example", "/a") is KNOWN.at("unknown.example", "/b")


@pytest.mark.parametrize(
    ("host", "asks"),
    [
        ("api.example.com", set()),
        ("api.stripe.com", {"keys"}),
        ("slack.com", {"looks", "masks"}),
        ("a.myshopify.com", {"looks", "keys", "scoped"}),
        ("x.communication.azure.com", {"signs", "keys"}),
    ],
)
def test_a_host_says_what_it_asks_of_a_mount(host: str, asks: set[str]) -> None:
    spoken = KNOWN.of(host)
    every = ("scoped", "looks", "signs", "keys", "masks")
    assert {name for name in every if getattr(spoken, name)} == asks
    assert KNOWN.of(host) is spoken


def test_hosts_that_were_seen_do_not_pile_up() -> None:
    presets = presets_of(["stripe"])
    for number in range(_REMEMBERED + 10):
        presets.at(f"h{number}.example")
    assert len(presets._seen) <= _REMEMBERED
    assert presets.at("api.stripe.com")[0].name == "stripe"


def test_by_its_host_only_what_was_read_at_the_source_acts() -> None:
    (found, _) = KNOWN.at("api.stripe.com")
    assert {fact.source.mark for fact in found.facts()} == {"P"}
    assert {fact.source.mark for fact in KNOWN.named("stripe").facts()} == {"P", "S"}
    (trusted, _) = presets_of(["stripe"]).at("api.stripe.com")
    assert trusted == KNOWN.named("stripe")


def test_what_is_off_says_so() -> None:
    body = {"error": {"code": "idempotency_key_in_use"}, "note": "x"}
    url = "https://api.linear.app/graphql"
    headers = {"x-ratelimit-requests-reset": "1767225612500"}
    busy = {"errors": [{"extensions": {"type": "ratelimited"}}]}
    by_host = explain(400, headers, busy, url=url, now=1767225600.0)
    assert by_host.failure is FailureClass.RATE_LIMIT and by_host.wait is None
    assert "facts marked S would say rate_limit, wait 12.5 s, name api='linear'" in by_host.why
    named = explain(400, headers, busy, url=url, api="linear", now=1767225600.0)
    assert named.wait == 12.5 and "off:" not in named.why
    assert "off:" not in explain(409, {}, body, url="https://api.example.com/").why
    off = explain(402, {}, "", url="https://api.stripe.com/v1/charges", method="POST")
    assert "would say bad_input, wait none, name api='stripe'" in off.why


@pytest.mark.parametrize(
    "name", ["Stripe", "STRIPE", "hugging face", "Hugging-Face", "ratelimit draft"]
)
def test_a_name_is_found_however_it_is_written(name: str) -> None:
    assert KNOWN.named(name)


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(
        ValueError, match=r"api='strpie': there is no such preset; did you mean 'stripe'\?"
    ):
        KNOWN.named("strpie")
    with pytest.raises(ValueError, match="`httpx-recover apis` lists them"):
        KNOWN.named("qqqqqq")


def test_a_secret_in_a_path_is_masked() -> None:
    telegram, slack, discord = (KNOWN.named(name) for name in ("telegram", "slack", "discord"))
    assert telegram.masked("/bot12:AB/sendMessage") == "/bot***/sendMessage"
    assert telegram.masked("/file/bot12:AB/a/b") == "/file/bot***/a/b"
    assert telegram.masked("/bot12:AB") == "/bot***"
    assert telegram.masked("/other") == "/other"
    assert slack.masked("/services/T1/B2/secret") == "/services/T1/B2/***"
    assert (
        discord.masked("/api/v10/webhooks/1/tok/messages/2") == "/api/v10/webhooks/1/***/messages/2"
    )
    (by_host, _) = KNOWN.at("api.telegram.org")
    assert by_host.masked("/bot12:AB/x") == "/bot***/x"


@pytest.mark.parametrize(
    ("api", "method", "path", "target", "place", "name", "window"),
    [
        ("stripe", "POST", "/v1/charges", "", "header", "Idempotency-Key", 86_400),
        ("stripe", "DELETE", "/v2/x", "", "header", "Idempotency-Key", None),
        ("stripe", "DELETE", "/v1/x", "", None, None, None),
        ("paypal", "POST", "/v2/checkout/orders", "", "header", "PayPal-Request-Id", 21_600),
        ("paypal", "POST", "/v1/checkout/orders", "", "header", "PayPal-Request-Id", float("inf")),
        ("square", "POST", "/v2/payments", "", "json", "idempotency_key", 300),
        ("google", "POST", "/compute/v1/projects/p/zones", "", "query", "requestId", None),
        ("azure-communication", "POST", "/emails:send", "", "repeatability", None, 300),
        (
            "dynamodb",
            "POST",
            "/",
            "DynamoDB_20120810.TransactWriteItems",
            "json",
            "ClientRequestToken",
            600,
        ),
        ("dynamodb", "POST", "/", "DynamoDB_20120810.PutItem", None, None, None),
        ("openai", "POST", "/v1/responses", "", "none", None, None),
        ("braintree", "POST", "/graphql", "", "directive", "ApiRequestKey", 2_592_000),
    ],
)
def test_a_preset_knows_where_the_key_of_an_operation_goes(
    api: str, method: str, path: str, target: str, place: str | None, name: str | None, window: Any
) -> None:
    key = KNOWN.named(api).key_for(method, path, target)
    said = (key.place, key.name, key.window) if key else (None, None, None)
    assert said == (place, name, window)


def test_a_key_may_need_a_field_beside_it() -> None:
    key = KNOWN.named("discord").key_for("POST", "/api/v10/channels/1/messages")
    assert key is not None and key.with_ == (("enforce_nonce", True),) and key.longest == 25


@pytest.mark.parametrize(
    ("api", "status", "headers", "sign"),
    [
        ("stripe", 500, {"idempotent-replayed": "true"}, "replay"),
        ("azure-data", 501, {}, "withdrawn"),
        ("azure-data", 201, {"repeatability-result": "accepted"}, "deduped"),
        ("solidgate", 200, {"idempotency-status": "ignored"}, "withdrawn"),
        ("adyen", 200, {"idempotency-key": "k1"}, "deduped"),
        ("adyen", 200, {}, None),
    ],
)
def test_a_sign_of_dedupe_is_seen(
    api: str, status: int, headers: dict[str, str], sign: str | None
) -> None:
    why = explain(status, headers, method="POST", api=api).why
    assert (f"key: {sign}" in why) if sign else ("key:" not in why)
    assert KNOWN.named(api).success_headers


def test_a_body_is_needed_for_errors_and_for_successes_that_may_hide_one() -> None:
    slack, stripe, sqs = (KNOWN.named(name) for name in ("slack", "stripe", "sqs"))
    assert wants_body(400, ()) and not wants_body(200, ())
    assert wants_body(200, [slack]) and wants_body(200, [sqs]) and not wants_body(200, [stripe])


# ------------------------------------------------------------------ files of one's own


def test_twelve_lines_add_an_api(own: Path) -> None:
    assert len(own.read_text().splitlines()) == 12
    url = "https://orders.example.com/x"
    for chosen in ([own], [str(own)]):
        said = explain(400, {"x-wait-ms": "2500"}, {"code": "busy"}, url=url, presets=chosen)
        assert (said.failure, said.wait, said.code) == (FailureClass.RATE_LIMIT, 2.5, "busy")
        assert "our wiki, page Orders, read 2026-12-01, [P]" in said.why
    assert explain(400, {}, {"code": "busy"}, url=url).failure is FailureClass.BAD_INPUT


def test_ones_own_stands_before_that_of_the_package(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[stripe]\ntitle = "Ours"\nhosts = ["api.stripe.com"]\n')
    presets = presets_of([path])
    assert presets.named("stripe").title == "Ours"
    assert presets.named("github").title == "GitHub REST"


def test_none_at_all() -> None:
    assert list(presets_of(False)) == [] and presets_of(False).at("api.stripe.com") == ()
    said = explain(200, {}, {"ok": False}, url="https://slack.com/api/x", presets=False)
    assert said.failure is FailureClass.OK


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (None, r"mine\.toml cannot be read: No such file"),
        (b"[x", r"mine\.toml is no TOML"),
        (b"\xff", r"mine\.toml is no TOML"),
        (b"x = 1", r"mine\.toml: \[x\]: must be a table"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, made: bytes | None, said: str) -> None:
    path = tmp_path / "mine.toml"
    if made is not None:
        path.write_bytes(made)
    with pytest.raises(ValueError, match=said):
        presets_of([path])


@pytest.mark.parametrize("chosen", ["stripe", Path("a.toml")])
def test_one_name_alone_is_refused(chosen: Any) -> None:
    with pytest.raises(ValueError, match="must be True, False or a list of names and paths"):
        presets_of(chosen)


def test_an_unknown_name_among_the_chosen_is_refused() -> None:
    with pytest.raises(ValueError, match="api='gitub'"):
        presets_of(["gitub"])


def test_nothing_is_read_before_it_is_needed() -> None:
    code = (
        "import sys, httpx_recover; names = set(sys.modules); "
        "print({'tomllib', 'httpx_recover._presets', 'httpx_recover.dialects._schema'} & names)"
    )
    # A measurement of coverage would load what it needs into the child too.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.strip() == "set()"


# ------------------------------------------------------------------ the schema

SOURCE = {"at": "a page", "read": date(2026, 12, 1), "mark": "P"}
NOTES = {**SOURCE, "mark": "S"}


def table(**rows: Any) -> dict[str, Any]:
    return {"a": {"sources": {"p": dict(SOURCE), "s": dict(NOTES)}, **rows}}


def row(kind: str, **said: Any) -> dict[str, Any]:
    return table(**{kind: [{"source": "p", **said}]})


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"a": 1}, r"f\.toml: \[a\]: must be a table"),
        (table(host=[]), r"\[a\]: 'host' is unknown; did you mean 'hosts'\?"),
        (table(zzz=1), r"\[a\]: 'zzz' is unknown; known are title, hosts"),
        (table(hosts="a.example"), r"\[a\] hosts='a\.example': must be a list of hosts"),
        (table(hosts=["https://a.example"]), "must be a list of hosts in lower case"),
        (table(hosts=["A.example"]), "must be a list of hosts in lower case"),
        (table(title=" "), r"\[a\] title=' ': must be text"),
        (table(title=7), "must be text"),
        (table(also=[]), "must be a value or a list of values"),
        (table(also=[{}]), "must be a value or a list of values"),
        (table(paths="/x"), r"paths='/x': must be a list such as"),
        (table(paths=[]), "must be a list such as"),
        (table(paths=["x"]), "must be a path that starts with"),
        (table(via="a b: c"), "must be the name of a header"),
        (table(wait={}), r"\[a\] wait: must be a list of rows"),
        (table(wait=[1]), r"\[a\] wait\[0\]: must be a table"),
        ({"a": {"sources": 1}}, r"\[a\] sources: must be a table of"),
        ({"a": {"sources": {"p": 1}}}, r"sources\.p: must be a table"),
        ({"a": {"sources": {"p": {"at": "x"}}}}, r"sources\.p: has no 'read'"),
        ({"a": {"sources": {"p": {**SOURCE, "read": "2026"}}}}, r"read='2026': must be a date"),
        ({"a": {"sources": {"p": {**SOURCE, "mark": "X"}}}}, r"mark='X': must be one of P, S"),
        ({"a": {"sources": {"p": {**SOURCE, "at": ""}}}}, r"at='': must be text"),
        ({"a": {"sources": {"p": {**SOURCE, "by": "me"}}}}, "'by' is unknown"),
        (table(hint=[{"header": "x"}]), r"hint\[0\]: has no source; add source ="),
        (
            table(hint=[{"header": "x", "source": "q"}]),
            r"source='q': must be an entry of sources \(p, s\)",
        ),
        ({"a": {"hint": [{"header": "x", "source": "q"}]}}, r"sources \(none yet\)"),
        (table(hint=[{"header": "x", "source": ["p"]}]), "must be an entry of sources"),
        (row("hint", header="x y"), r"hint\[0\] header='x y': must be the name of a header"),
        (row("hint"), r"hint\[0\]: has no 'header'"),
        (row("hint", header="x", note=1), "note=1: must be text"),
        (row("wait", header="x", unit="weeks"), r"unit='weeks': must be one of s, ms"),
        (row("wait", unit="s"), "names no place; add header, path, words, cost or fixed"),
        (row("wait", fixed=0), "fixed=0: must be a number above 0"),
        (row("wait", fixed=True), "must be a number above 0"),
        (row("wait", fixed=float("nan")), "must be a number above 0"),
        (row("wait", words=1), "words=1: must be true or false"),
        (row("wait", fixed=2, status=99), "must be a status from 100 to 599"),
        (row("wait", fixed=2, status=[]), "must be a status from 100 to 599"),
        (row("wait", fixed=2, status=["429"]), "must be a status from 100 to 599"),
        (row("class", status=400), r"class\[0\]: has no 'is'"),
        (row("class", **{"is": "slow"}, status=400), "must be one of ok, accepted"),
        (row("class", **{"is": "auth"}), "has no condition; name a status, code, header"),
        (row("class", **{"is": "auth"}, equals="x", status=400), "equals: needs the path"),
        (row("class", **{"is": "auth"}, status=400, sign="x"), "must be one of conflict, twin"),
        (row("class", **{"is": "auth"}, status=400, applied="yes"), 'must be "no"'),
        (
            row("class", **{"is": "auth"}, status=400, applied="no", source="s"),
            "a promise needs a source marked P",
        ),
        (row("look", equals=1), r"look\[0\]: has no 'path'"),
        (row("look", path="x", applied="no", source="s"), "a promise needs a source marked P"),
        (row("key", place="body", on=["POST /x"]), "must be one of header, json, query"),
        (row("key", place="header", on=["POST /x"]), "has no 'name' for its header"),
        (row("key", place="none"), r"has no 'on': the operations, such as"),
        (row("key", place="none", on=["/x"]), "has no method"),
        (row("key", place="none", on=["POST /x"], window=-1), "must be a number above 0"),
        (row("key", place="none", on=["POST /x"], longest=0), "must be a whole number above 0"),
        (row("key", place="none", on=["POST /x"], longest=1.5), "must be a whole number above 0"),
        (row("key", place="none", on=["POST /x"], replays="some"), "must be one of all, success"),
        (row("key", place="none", on=["POST /x"], **{"with": {}}), "must be a table such as"),
        (row("sign", means="replay"), "names no sign; add header or status"),
        (row("sign", header="x"), r"sign\[0\]: has no 'means'"),
        (row("partial", ident="x"), r"partial\[0\]: has no 'items'"),
        (row("partial", items="x", equals=1), "equals: needs the path"),
        (row("mask", path="/x"), "must be a path that holds {secret} once"),
        (row("mask", path="{secret}"), "must be a path that holds {secret} once"),
        (row("mask", path="/{secret}/{secret}"), "must be a path that holds {secret} once"),
        (row("code"), r"code\[0\]: has no 'path'"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(tables: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        dialects_of(tables, "f.toml")
    assert str(refused.value).startswith("f.toml: [a]")


def test_a_table_with_nothing_but_a_name_is_an_api() -> None:
    (found,) = dialects_of({"a": {}}, "f.toml")
    assert found == Dialect(name="a", title="a", file="f.toml")
    assert Presets([found]).at("a.example") == ()


def test_an_item_may_fail_by_a_value_of_its_own() -> None:
    rows = row("partial", items="*", failed="success", equals=False, ident="id", redo_all=True)
    (found,) = dialects_of(rows, "f.toml")
    items = failed_items([{"success": True}, {"success": False, "id": "b"}, {"id": "c"}], found)
    assert items is not None and items.failed == items.redo == ("b",)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["source", "at", "read", "mark", "is", "status", "header", "on", "place"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
FIELDS = st.sampled_from(["hosts", "paths", "via", "sources", "wait", "class", "key", "mask"])


@settings(deadline=None)
@given(st.dictionaries(FIELDS, VALUES, max_size=4))
def test_any_other_table_is_taken_or_refused_with_a_value_error(said: dict[str, Any]) -> None:
    refused = ""
    try:
        assert [each.name for each in dialects_of({"a": said}, "f.toml")] == ["a"]
    except ValueError as wrong:
        refused = str(wrong)
    assert refused == "" or refused.startswith("f.toml: [a]")
