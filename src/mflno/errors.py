"""The errors a user meets.

```
MflnoError
├── ArgumentError (ValueError)     a wrong argument: place, rule, what came, remedy
├── SolveFailed (RuntimeError)     a solver run that gave no usable trajectory
├── MissingExtra (ImportError)     an optional dependency is not installed
└── StoreError (OSError)           a file is damaged, too new, locked or gone
```
"""


class MflnoError(Exception):
    """Root of all errors this package raises on purpose."""


class ArgumentError(MflnoError, ValueError):
    """A wrong argument at the boundary.

    Args:
        place: Owner and argument, as `"LaplaceLayer.grid"`.
        rule: What must hold.
        came: What came instead.
        remedy: What to do about it.

    Example:
        >>> print(ArgumentError("sample.level", "must be below 2", 5, "pass 0 or 1"))
        sample.level: must be below 2; got 5; pass 0 or 1
    """

    def __init__(self, place: str, rule: str, came: object, remedy: str) -> None:
        self.place, self.rule, self.came, self.remedy = place, rule, came, remedy
        super().__init__(f"{place}: {rule}; got {came}; {remedy}")


class SolveFailed(MflnoError, RuntimeError):
    """One solver run that gave no usable trajectory.

    Args:
        kind: One of `KINDS`: what went wrong, in one word.
        detail: What happened, in words.
        log: The tail of the solver's own log, where there is one.

    Example:
        >>> str(SolveFailed("timeout", "no answer within 60 s"))
        'timeout: no answer within 60 s'
    """

    KINDS = (
        "error",
        "start",
        "exit",
        "signal",
        "timeout",
        "cancelled",
        "nan",
        "inf",
        "shape",
        "grid",
        "output",
        "refused",
        "server",
    )

    def __init__(self, kind: str, detail: str, log: str = "") -> None:
        self.kind, self.detail, self.log = kind, detail, log
        super().__init__(f"{kind}: {detail}" + (f"\n{log}" if log else ""))

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.kind, self.detail, self.log)

    @property
    def retryable(self) -> bool:
        """Whether the same case may succeed when it is tried again."""
        return self.kind in ("signal", "timeout", "cancelled", "refused")


class MissingExtra(MflnoError, ImportError):
    """An optional dependency is not installed.

    Example:
        >>> print(MissingExtra("skfem", extra="fem", purpose="the composite beam"))
        the composite beam needs skfem; pip install 'mflno[fem]'
    """

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}; pip install 'mflno[{extra}]'")


class StoreError(MflnoError, OSError):
    """A file is damaged, of a newer version, locked by another process, or gone."""
