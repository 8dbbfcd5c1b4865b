"""Problem: something wrong in the input that the replay can go on with."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a snapshot, and what it means for the replay."""

    file: str
    """The file it is in; an archive's member has its path inside the archive."""
    object: str
    """The object, as `Pod default/web-0`."""
    field: str
    """The path inside the object, as `spec.containers[0].resources`."""
    what: str
    """What is wrong."""
    effect: str
    """What it means for the replay."""

    def format_line(self) -> str:
        """The problem in one line: `file: object: field: what; effect`."""
        text = ": ".join(part for part in (self.file, self.object, self.field, self.what) if part)
        return f"{text}; {self.effect}" if self.effect else text


# Report: collects the Problems of one load; many alike become a few and a count.

MAX_ALIKE = 5
"""Problems of one sort that are listed one by one."""

_INDEX = re.compile(r"\[[^\]]*\]")


class _Sort(NamedTuple):
    """What Problems have in common that are alike, in whatever file they are."""

    kind: str
    field: str
    effect: str
    what: str
    """Empty where the object has a name: there it says more about the object than about the fault."""


class ProblemReport:
    """The Problems found so far, in the order found."""

    def __init__(self) -> None:
        self._listed: dict[Problem, int] = {}
        """How often each is there."""
        self._alike: dict[_Sort, list[str]] = {}
        """The files of each sort, one for each Problem."""

    def add_problem(self, what: str, effect: str, *, file: str = "", object: str = "", field: str = "") -> None:
        """Note a Problem; the same one again, and those past `ALIKE` of the same sort, are only counted."""
        problem = Problem(file, object, field, what, effect)
        if problem in self._listed:
            self._listed[problem] += 1
            return
        kind, _, name = object.partition(" ")
        files = self._alike.setdefault(_Sort(kind, _INDEX.sub("[]", field), effect, "" if name else what), [])
        files.append(file)
        if len(files) <= MAX_ALIKE:
            self._listed[problem] = 1

    def all_problems(self) -> list[Problem]:
        """All Problems, with one line for each sort that was cut off."""
        listed = [
            problem if times == 1 else replace(problem, what=f"{problem.what} ({times} times)")
            for problem, times in self._listed.items()
        ]
        return listed + [_count_of_rest(sort, files) for sort, files in self._alike.items() if len(files) > MAX_ALIKE]


def _count_of_rest(sort: _Sort, files: list[str]) -> Problem:
    """One line for all that are not listed; the file where all are in the same one."""
    rest = list(dict.fromkeys(files[MAX_ALIKE:]))
    same = list(dict.fromkeys(files)) == rest[:1]
    where = "" if same else f", in {len(rest)} {'file' if len(rest) == 1 else 'files'}"
    what = f"{len(files) - MAX_ALIKE} more with the same fault{where}"
    return Problem(rest[0] if same else "", sort.kind, sort.field, what, sort.effect)
