"""After a fork the child takes none of its parent's connections.

Both processes would read from one socket, and one of them the answer to the other's request. The
parent goes on with them undisturbed: closing a descriptor in the child ends nothing.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from typing import Any

from httpx_recover._layers import layers

_mounts: weakref.WeakSet[Any] = weakref.WeakSet()
_parents: list[Any] = []  # async connections, which cannot be closed without their event loop


def watch_forks(mount: Any) -> None:
    """From now on the mount's pools are made empty in a forked process."""
    _mounts.add(mount)


def _after_fork() -> None:
    for mount in list(_mounts):
        for layer in layers(mount.inner):
            pool = getattr(layer, "_pool", None)  # httpcore's; there is no public way to it
            if hasattr(pool, "_connections") and hasattr(pool, "_requests"):
                _leave(pool)


def _leave(pool: Any) -> None:
    connections, pool._connections, pool._requests = pool._connections, [], []
    lock = getattr(pool, "_optional_thread_lock", None)
    if lock is not None:
        pool._optional_thread_lock = type(lock)()  # another thread may have held it
    for each in connections:
        if hasattr(each, "close"):
            with suppress(Exception):
                each.close()
    _parents.append(connections)


getattr(os, "register_at_fork", dict)(after_in_child=_after_fork)  # Windows cannot fork
