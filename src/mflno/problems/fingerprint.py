"""What a Python function is made of, as far as it can be seen; a changed one runs again."""

import inspect
import pickle
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

PLAIN = bool, str, bytes, int, float, complex, type(None)
Follow = Callable[[object], list[Any]]


def traces(thing: object, seen: tuple[int, ...] = ()) -> list[Any]:
    """Texts that change when a function or an object it holds does.

    Of a function its source, its defaults and what it has captured; of an object that is called
    its class's source and its content. What a function calls by a global name is not seen, and
    of what cannot be pickled no more than its attributes and its type.

    Example:
        >>> def scaled(factor):
        ...     return lambda case, grid: factor * grid
        >>> traces(scaled(1.0)) == traces(scaled(1.0))
        True
        >>> traces(scaled(1.0)) == traces(scaled(2.0))
        False
    """
    if id(thing) in seen:
        return ["again"]
    follow = lambda part: traces(part, (*seen, id(thing)))
    look = next(look for kinds, look in LOOKS if isinstance(thing, kinds))
    return look(thing, follow)


def of_function(function: FunctionType, follow: Follow) -> list[Any]:
    """Source text, or compiled code where there is none; defaults; captured values."""
    cells = [each.cell_contents for each in function.__closure__ or () if is_filled(each)]
    held = (function.__defaults__, function.__kwdefaults__, cells)
    return [source_of(function) or code_of(function.__code__), *map(follow, held)]


def of_object(thing: object, follow: Follow) -> list[Any]:
    """Type and value of an object that is no function."""
    kind = type(thing)
    source = source_of(kind) if callable(thing) else ""
    try:
        value: Any = sha256(pickle.dumps(thing, protocol=4)).hexdigest()
    except Exception:
        value = follow(getattr(thing, "__dict__", {}))
    return [f"{kind.__module__}.{kind.__qualname__}", source, value]


LOOKS: list[tuple[Any, Callable[[Any, Follow], list[Any]]]] = [
    (PLAIN, lambda thing, follow: [type(thing).__name__, repr(thing)]),
    (FunctionType, of_function),
    (MethodType, lambda thing, follow: [follow(thing.__func__), follow(thing.__self__)]),
    (partial, lambda thing, follow: [*map(follow, (thing.func, thing.args, thing.keywords))]),
    (type, lambda thing, follow: [thing.__qualname__, source_of(thing)]),
    (ModuleType, lambda thing, follow: [thing.__name__]),
    (list | tuple, lambda thing, follow: [*map(follow, thing)]),
    # Their own order differs from process to process.
    (set | frozenset, lambda thing, follow: sorted(map(follow, thing), key=repr)),
    (
        Mapping,
        lambda thing, follow: sorted(([repr(k), follow(thing[k])] for k in thing), key=repr),
    ),
    (object, of_object),
]
"""How to look at each kind of thing; the first that fits."""


def is_filled(cell: Any) -> bool:  # noqa: ANN401
    """Whether a captured name has a value yet."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def source_of(thing: Any) -> str:  # noqa: ANN401
    """The source text, where there is one."""
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return ""


def code_of(code: CodeType) -> list[Any]:
    """The compiled form of a function whose source is nowhere to be found."""
    inner = [code_of(each) for each in code.co_consts if isinstance(each, CodeType)]
    plain = [traces(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return [code.co_code.hex(), plain, list(code.co_names), inner]
