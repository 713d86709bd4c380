"""`httpx-recover explain` and `httpx-recover apis` on the command line."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from httpx_recover._cli import main

BUSY = b'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\n\r\n{"error": {"code": "slow_down"}}'


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def given(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_an_answer_in_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    body = tmp_path / "body.json"
    body.write_text('{"error": {"code": "idempotency_key_in_use"}}')
    out = told(
        capsys,
        *["explain", "--status", "409", "--header", "Retry-After: 3", "--body", f"@{body}"],
        *["--api", "stripe"],
    )
    lines = out.splitlines()
    assert lines[:4] == [
        "GET 409",
        "  class    in_progress (idempotency_key_in_use)",
        "  applied  unknown",
        "  wait     3 s",
    ]
    assert "POST 409" in lines
    assert any("docs.stripe.com/api/idempotent_requests" in line for line in lines)
    assert "  why      wait: header retry-after (RFC 9110 section 10.2.3)" in lines


@pytest.mark.parametrize(
    "raw",
    [
        BUSY,
        BUSY.replace(b"\r\n", b"\n"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + BUSY,
        b"HTTP/2 302 \r\nlocation: /x\r\n\r\n" + BUSY.replace(b"HTTP/1.1", b"HTTP/2"),
    ],
    ids=["crlf", "lf", "continue", "redirect"],
)
def test_a_saved_answer_from_standard_input(
    raw: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given(monkeypatch, raw)
    assert told(capsys, "explain", "--method", "post").splitlines()[:5] == [
        "POST 429",
        "  class    rate_limit (slow_down)",
        "  applied  no",
        "  wait     3 s",
        "  next     wait 3 s, then resend it",
    ]


def test_a_saved_answer_may_end_after_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given(monkeypatch, b"HTTP/1.1 204 No Content\r\nbroken line")
    assert "class    ok\n" in told(capsys, "explain")


def test_the_url_finds_the_preset_and_the_time_can_be_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    limit = ["--header", "x-ratelimit-remaining: 0", "--header", "x-ratelimit-reset: 1000"]
    url = ["--url", "https://api.github.com/x", "--now", "900"]
    assert "wait     100 s" in told(capsys, "explain", "--status", "403", *limit, *url)


def test_a_file_of_ones_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[mine]\nsources.w = { at = "wiki", read = 2026-12-01, mark = "P" }\n'
        '[[mine.class]]\nis = "quota"\nstatus = 418\nsource = "w"\n'
    )
    own = ["--presets", str(path)]
    assert "class    quota" in told(capsys, "explain", "--status", "418", "--api", "mine", *own)
    assert "\nmine                  1 P  0 S  named only\n" in told(capsys, "apis", *own)


def test_the_apis_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "apis")
    assert "stripe                6 P  4 S  api.stripe.com, files.stripe.com" in out
    assert "cloudflare-edge       5 P  0 S  any, by server: cloudflare" in out
    assert out.splitlines()[-1].startswith("60 APIs. P acts by itself")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["explain", "--status", "4x9"], "'4x9' is not a status such as 429"),
        (["explain", "--status", "42"], "'42' is not a status such as 429"),
        (["explain", "--status", "429", "--header", "x"], "'x' is not a header such as"),
        (["explain", "--status", "429", "--header", ": x"], "': x' is not a header such as"),
        (["explain", "--status", "429", "--now", "x"], "invalid float value"),
    ],
)
def test_an_option_that_cannot_be_meant_is_2_with_the_usage(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["explain", "--header", "a: b"], "--header and --body need --status too"),
        (["explain", "--body", "x"], "--header and --body need --status too"),
        (["explain"], "standard input has no status line; save it with `curl -i`, or --status"),
        (["explain", "--status", "429", "--api", "strpie"], "did you mean 'stripe'?"),
        (["explain", "--status", "429", "--body", "@nowhere"], "--body @nowhere: No such file"),
        (["explain", "--status", "429", "--url", "http://[x"], "must be a URL such as"),
        (["explain", "--status", "429", "--presets", "no.toml"], "no.toml cannot be read"),
        (["apis", "--presets", "no.toml"], "httpx-recover apis: presets: no.toml cannot be read"),
    ],
)
def test_what_cannot_be_read_is_2_and_says_why(
    argv: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given(monkeypatch, b"{}")
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err
