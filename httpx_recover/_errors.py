"""The errors of this library. Each is also an error of the client that met the failure.

A caller who catches `httpx.ReadTimeout` today must still catch what we raise in its place, so
an error of ours is built on two bases: its own kind and the client's type. Such classes are made
when first needed and kept. They pickle without request and response, so that no header leaks
through a queue or a log: what travels is the message, the method, the URL without query, and the
outcome.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import Any


class RecoverError(Exception):
    """Base of this library's errors.

    Attributes:
        outcome: the `Outcome` of the call, or None.
        method: the request's method, or None.
        url: the request's URL without query and user information, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        outcome: Any = None,
        method: str | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.method = method
        self.url = url

    @property
    def recovery(self) -> Any:
        """The outcome, under the name it has on every exception that passed a mount."""
        return self.outcome

    @recovery.setter
    def recovery(self, outcome: Any) -> None:
        self.outcome = outcome

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"outcome": self.outcome, "method": self.method, "url": self.url}
        if "_twofold" not in type(self).__dict__:
            return _rebuild, (type(self), None, str(self), state)
        kind, base = type(self).__bases__
        return _rebuild, (kind, (base.__module__, base.__name__), str(self), state)


class UnknownOutcome(RecoverError):
    """A write was, or may have been, sent and nothing proves what became of it.

    Raised when no response is at hand, and for a repeat that was refused unsent while the first
    is unknown. Under httpx it is also the client's own type, such as `httpx.ReadTimeout`.
    """


_made: dict[tuple[type[RecoverError], type[BaseException]], type[RecoverError]] = {}


def as_client_error(
    kind: type[RecoverError], base: type[BaseException], message: str, **facts: Any
) -> RecoverError:
    """Make an error that is both `kind` and the client's own type `base`.

    A type that cannot be made from a message alone, such as one of a transport's own, gives way to
    the nearest of its bases that can: an error in making the error would hide the real one.
    """
    for each in base.__mro__:
        ours = issubclass(each, RecoverError)  # of a mount below: the client's type is further up
        if issubclass(each, Exception) and each is not Exception and not ours:
            with suppress(TypeError):
                return _twofold(kind, each)(message, **facts)
    return kind(message, **facts)


def _twofold(kind: type[RecoverError], base: type[BaseException]) -> type[RecoverError]:
    made = _made.get((kind, base))
    if made is None:
        names: dict[str, Any] = {"__module__": kind.__module__, "__doc__": kind.__doc__}
        names["_twofold"] = True
        names["__str__"] = BaseException.__str__  # ssl.SSLError would show a tuple
        made = _made[kind, base] = type(kind.__name__, (kind, base), names)
    return made


def _rebuild(
    kind: type[RecoverError], origin: tuple[str, str] | None, message: str, state: dict[str, Any]
) -> RecoverError:
    if origin is None:
        return kind(message, **state)
    module, name = origin
    try:
        base = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):  # the reader may not have the client installed
        return kind(message, **state)
    return as_client_error(kind, base, message, **state)
