"""The body of an answer on its way to its caller: passed on as it comes, told of when cut.

Chunks pass untouched and unbuffered, one for one. Only what happens at the end is ours: a cut is
recorded, and a download that may be gone on with is asked for again from where it was cut.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any


class Pieces:
    """The chunks of a body, in the sync colour."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.left = iter(body.stream)

    def __iter__(self) -> Pieces:
        return self

    def __next__(self) -> bytes:
        while True:
            try:
                chunk: bytes = next(self.left)
            except StopIteration:
                self.body.flow.ended(self.body.taken)
                raise
            except Exception as exc:
                self.body.stream.close()
                response = self.body.flow.go_on(exc, self.body.taken)
                self.body.stream = response.stream
                self.left = iter(response.stream)
            except BaseException:
                self.body.flow.leave()
                raise
            else:
                self.body.taken += len(chunk)
                return chunk


class AsyncPieces:
    """The same in the other. Not a generator: one that is left half-way warns under trio."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.left = aiter(body.stream)

    def __aiter__(self) -> AsyncPieces:
        return self

    async def __anext__(self) -> bytes:
        while True:
            try:
                chunk: bytes = await anext(self.left)
            except StopAsyncIteration:
                self.body.flow.ended(self.body.taken)
                raise
            except Exception as exc:
                await self.body.stream.aclose()
                response = await self.body.flow.ago_on(exc, self.body.taken)
                self.body.stream = response.stream
                self.left = aiter(response.stream)
            except BaseException:
                self.body.flow.leave()
                raise
            else:
                self.body.taken += len(chunk)
                return chunk


@lru_cache
def body_class(lib: Any) -> Any:
    """The class of such bodies for one of the two libraries."""

    class Body(lib.SyncByteStream, lib.AsyncByteStream):  # type: ignore[misc] # lib is a value
        """A body whose end is told to `flow`."""

        def __init__(self, stream: Any, flow: Any) -> None:
            self.stream = stream
            self.flow = flow
            self.taken = 0

        def __iter__(self) -> Pieces:
            return Pieces(self)

        def __aiter__(self) -> AsyncPieces:
            return AsyncPieces(self)

        def close(self) -> None:
            try:
                self.stream.close()
            except BaseException as exc:
                self.stopped(exc)
                raise

        async def aclose(self) -> None:
            try:
                await self.stream.aclose()
            except BaseException as exc:
                self.stopped(exc)
                raise

        def stopped(self, exc: BaseException) -> None:
            """All may have come; but a client that reads bodies itself has not handed it on."""
            if not isinstance(exc, Exception):
                self.flow.leave()

    return Body
