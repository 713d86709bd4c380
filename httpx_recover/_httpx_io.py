"""The few operations that touch a socket, once in each colour. A test holds the pairs equal."""

from __future__ import annotations

from math import inf
from typing import Any

from httpx_recover import _drive
from httpx_recover._httpx_wire import put_back, too_late, too_long
from httpx_recover._view import SMALL


def read_body(response: Any, lib: Any, ends: float = inf) -> BaseException | None:
    """Read a body and put it back; the error when it was cut, with what there was kept.

    One that still comes after `ends`, a time of `_drive.clock`, is cut.
    """
    chunks: list[bytes] = []
    error: BaseException | None = None
    stream = response.stream
    try:
        for chunk in stream:
            chunks.append(chunk)
            if error is None and ends < inf and _drive.clock.now() > ends:
                error = too_late(lib)  # closed, then read to its end: see `shelve`
                stream.close()
    except Exception as exc:
        error = error or exc
    finally:
        stream.close()
    put_back(response, lib, b"".join(chunks), error)
    return error


async def aread_body(response: Any, lib: Any, ends: float = inf) -> BaseException | None:
    """Read a body and put it back; the error when it was cut, with what there was kept.

    One that still comes after `ends`, a time of `_drive.clock`, is cut.
    """
    chunks: list[bytes] = []
    error: BaseException | None = None
    stream = response.stream
    try:
        async for chunk in stream:
            chunks.append(chunk)
            if error is None and ends < inf and _drive.clock.now() > ends:
                error = too_late(lib)  # closed, then read to its end: see `ashelve`
                await stream.aclose()
    except Exception as exc:
        error = error or exc
    finally:
        await stream.aclose()
    put_back(response, lib, b"".join(chunks), error)
    return error


def shelve(response: Any, lib: Any, ends: float) -> None:
    """Close a failed response before waiting, keeping the beginning of its body.

    A pool of one connection would otherwise wait for itself.
    """
    if response is None or type(response.stream).__name__ in ("ByteStream", "KeptStream"):
        return
    chunks: list[bytes] = []
    size = 0
    error: BaseException | None = None
    stream = response.stream
    try:
        for chunk in stream:
            chunks.append(chunk)
            size += len(chunk)
            if error is None and (size > SMALL or _drive.clock.now() > ends):
                # Closed, then read to its end: under trio a generator that is merely left warns.
                error = too_long(lib) if size > SMALL else too_late(lib)
                stream.close()
            if size > 2 * SMALL:
                break  # a stream that does not know that it is closed
    except Exception as exc:
        error = error or exc
    finally:
        stream.close()
    put_back(response, lib, b"".join(chunks)[:SMALL], error)


async def ashelve(response: Any, lib: Any, ends: float) -> None:
    """Close a failed response before waiting, keeping the beginning of its body.

    A pool of one connection would otherwise wait for itself.
    """
    if response is None or type(response.stream).__name__ in ("ByteStream", "KeptStream"):
        return
    chunks: list[bytes] = []
    size = 0
    error: BaseException | None = None
    stream = response.stream
    try:
        async for chunk in stream:
            chunks.append(chunk)
            size += len(chunk)
            if error is None and (size > SMALL or _drive.clock.now() > ends):
                # Closed, then read to its end: under trio a generator that is merely left warns.
                error = too_long(lib) if size > SMALL else too_late(lib)
                await stream.aclose()
            if size > 2 * SMALL:
                break  # a stream that does not know that it is closed
    except Exception as exc:
        error = error or exc
    finally:
        await stream.aclose()
    put_back(response, lib, b"".join(chunks)[:SMALL], error)
