"""A parser whose errors are one line: argument, rule, what came, remedy."""

import argparse
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NoReturn

from mflno.errors import ArgumentError

KINDS = {"int": "must be a whole number", "float": "must be a number",
         "whole_or_money": "must be a number"}  # fmt: skip
Told = tuple[str, str, str]
"""Place, rule, and what came."""


def whole_or_money(text: str) -> int | float:
    """A whole number where it is one.

    Example:
        >>> whole_or_money("9"), whole_or_money("9.5")
        (9, 9.5)
    """
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def value_told(found: re.Match[str]) -> Told:
    """A value of the wrong kind."""
    return found[1], KINDS.get(found[2], f"must be a {found[2]}"), found[3]


def choice_told(found: re.Match[str]) -> Told:
    """A word that is none of those known."""
    return found[1], f"must be one of {found[3].replace(chr(39), '')}", found[2]


PATTERNS: dict[str, Callable[[re.Match[str]], Told]] = {
    r"argument (.+?): invalid (\w+) value: (.+)": value_told,
    r"argument (.+?): invalid choice: (.+?) \(choose from (.*)\)": choice_told,
    r"argument (.+?): expected (.+)": lambda m: (m[1], f"takes {m[2]}", "none"),
    r"argument (.+?): (not allowed with) argument (.+)": lambda m: (
        m[1],
        f"{m[2]} {m[3]}",
        "both",
    ),
    r"the following arguments are required: (.+)": lambda m: (m[1], "must be given", "nothing"),
    r"one of the arguments (.+) is required": lambda m: (m[1], "one must be given", "nothing"),
    r"unrecognized arguments: (.+)": lambda m: (m[1], "is one argument too many", repr(m[1])),
}
"""What argparse says, and how it reads as place, rule and what came."""


class Parser(argparse.ArgumentParser):
    """Takes options by their whole names, and says what is wrong with them in one line.

    Example:
        >>> parser = Parser(prog="mflno run")
        >>> _ = parser.add_argument("--budget", type=int)
        >>> try:
        ...     parser.checked(["--budgt", "9"])
        ... except ArgumentError as error:
        ...     print(error.remedy)
        did you mean --budget?
    """

    def __init__(self, **words: object) -> None:
        super().__init__(allow_abbrev=False, **words)  # pyright: ignore[reportArgumentType]

    def checked(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments, or an `ArgumentError`; an option that is none is named first."""
        for word in words[: list(words).index("--") if "--" in words else None]:
            name = word.partition("=")[0]
            if name.startswith("--") and name not in self._option_string_actions:
                near = get_close_matches(name, self._option_string_actions, 1)
                remedy = f"did you mean {near[0]}?" if near else self.help_line
                rule = f"must be an option of {self.prog}"
                raise ArgumentError(name, rule, repr(word), remedy)
        return self.parse_args(words)

    @property
    def help_line(self) -> str:
        """Where all arguments are told."""
        return f"'{self.prog} --help' tells all"

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print below its usage."""
        for pattern, told in PATTERNS.items():
            found = re.fullmatch(pattern, message)
            if found:
                place, rule, came = told(found)
                raise ArgumentError(place, rule, came, self.remedy(rule, came))
        raise ArgumentError(self.prog, message, "something else", self.help_line)

    def remedy(self, rule: str, came: str) -> str:
        """The word that was meant, where one is near."""
        words = re.findall(r"[\w-]+", rule) if came.startswith("'") else []
        near = get_close_matches(came.strip("'"), words, 1, 0.7)
        return f"did you mean {near[0]}?" if near else self.help_line
