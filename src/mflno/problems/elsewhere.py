"""A level whose runs are made elsewhere: in a laboratory, by hand, in a queue of its own."""

from dataclasses import dataclass

from mflno.errors import ArgumentError
from mflno.problems.solver import Answer, Request


@dataclass(frozen=True)
class Elsewhere:
    """Stands where a solver would be; such runs are asked for and told."""

    def check(self, request: Request) -> None:
        """Nothing can be wrong with a request that nobody here answers."""
        del request

    def solve(self, request: Request) -> Answer:
        """Refuse, and say what to do."""
        rule, remedy = (
            "runs of this level are made elsewhere",
            "use 'mflno ask' and 'mflno tell'",
        )
        raise ArgumentError("Elsewhere.solve", rule, dict(request.case), remedy)

    def fingerprint(self) -> str:
        """The same always: nothing here shapes the answers."""
        return "elsewhere"
