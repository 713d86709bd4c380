"""Bodies that are files: how one is made ready for another send, and known again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from typing import Any

MOST = 64 * 1024 * 1024  # bytes that are read to know a file again
_CHUNK = 256 * 1024


class Unchanged:
    """Files that can be sent again while they are as long as they were: the length was told."""

    __slots__ = ("sizes",)

    def __init__(self, files: Iterable[Any]) -> None:
        self.sizes = [(file, size_of(file)) for file in files]

    def __call__(self) -> None:
        for file, size in self.sizes:
            if size_of(file) != size:
                raise ValueError("a file of the body is not as long as it was")


class Rewind(Unchanged):
    """Winds a file back to where it stood when it was given to the client."""

    __slots__ = ("source", "start")

    def __init__(self, source: Any, start: Any) -> None:
        super().__init__([source])
        self.source = source
        self.start = start

    def __call__(self) -> None:
        super().__call__()
        self.source.seek(self.start)

    def digest(self) -> bytes | None:
        """Digest of what is sent, None when it is too much or cannot be read.

        Two files of one length are two orders: what one has met says nothing of the other.
        """
        digest, size = blake2b(digest_size=16), 0
        try:
            now = self.source.tell()
            self.source.seek(self.start)
            while size <= MOST and (chunk := self.source.read(_CHUNK)):
                digest.update(chunk.encode() if isinstance(chunk, str) else chunk)
                size += len(chunk)
            self.source.seek(now)
        except Exception:  # whatever a file of the caller's raises
            return None
        return None if size > MOST else b"digest " + digest.digest()


def rewind_of(source: Any) -> Rewind | None:
    """How to wind a file back; None for what is no file or cannot be wound back."""
    try:
        start = source.tell()
        source.seek(start)
    except Exception:  # whatever it raises
        return None
    return Rewind(source, start)


def size_of(file: Any) -> int | None:
    """How long a file is now; None when it does not tell."""
    with suppress(Exception):  # whatever a file of the caller's raises
        return os.fstat(file.fileno()).st_size
    with suppress(Exception):
        now, size = file.tell(), file.seek(0, os.SEEK_END)
        file.seek(now)
        return int(size)
    return None


def content_of(body: bytes | None, rewind: Any) -> bytes | None:
    """What a fingerprint takes for the content: the body itself, or a digest of the file."""
    if body is None and isinstance(rewind, Rewind):
        return rewind.digest()
    return body
