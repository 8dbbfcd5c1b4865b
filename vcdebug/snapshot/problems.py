"""Problem: a fault of the input with which the replay can continue."""

import re

from msgspec import Struct
from msgspec.structs import replace


class Problem(Struct, frozen=True):
    """One fault of a snapshot, and its effect on the replay."""

    file: str
    """The file with the fault; for a member of an archive, the path inside the archive."""
    object: str
    """The object, as `Pod default/web-0`."""
    field: str
    """The path inside the object, as `spec.containers[0].resources`."""
    what: str
    effect: str

    def format_line(self) -> str:
        """The problem in one line: `file: object: field: what; effect`."""
        text = ": ".join(part for part in (self.file, self.object, self.field, self.what) if part)
        return f"{text}; {self.effect}" if self.effect else text


REST_IGNORED, OBJECTS_MISSING = "the rest of the file is ignored", "objects are missing"
"""Effects of faults after which objects of a file are missing, so that no answer is certain."""
UNREAD_API = "which no supported release reads"
META_NOT_READ = "is not read with a single file"
"""The fault of a meta.json beside a snapshot that is one file."""
PLUGIN_NOT_REPLAYED = "this plugin is not replayed"
DOUBTED_FAULTS = (META_NOT_READ, PLUGIN_NOT_REPLAYED)
"""Faults for which each answer says that it can be wrong."""
MAX_ALIKE = 5
"""Maximum number of listed Problems of one sort; further ones are only counted."""

_INDEX = re.compile(r"\[[^\]]*\]")


class _Sort(Struct, frozen=True):
    """The fields that Problems of one sort share, for any file and any object of a kind."""

    kind: str
    field: str
    effect: str
    fault: str
    """The fault; empty for Problems of a named object, whose text often quotes a value of the object."""


class ProblemReport:
    """The Problems of one load in order; of many of one sort, MAX_ALIKE and a count."""

    def __init__(self) -> None:
        self._listed: dict[Problem, int] = {}
        """Listed Problem → number of times that it was added."""
        self._files_by_sort: dict[_Sort, list[str]] = {}
        """Sort → the file of each of its Problems."""

    def add_problem(self, fault: str, effect: str, *, file: str = "", object: str = "", field: str = "") -> None:
        """Add a Problem; an equal one, or one beyond MAX_ALIKE of its sort, is only counted."""
        problem = Problem(file, object, field, fault, effect)
        if problem in self._listed:
            self._listed[problem] += 1
            return
        # Indexes in the field and names of objects are left out of the sort: they make alike faults look different.
        kind, _, name = object.partition(" ")
        files = self._files_by_sort.setdefault(_Sort(kind, _INDEX.sub("[]", field), effect, "" if name else fault), [])
        files.append(file)
        if len(files) <= MAX_ALIKE:
            self._listed[problem] = 1

    def all_problems(self) -> list[Problem]:
        """All Problems, with one line for the rest of each sort."""
        problems = [
            problem if times == 1 else replace(problem, what=f"{problem.what} ({times} times)")
            for problem, times in self._listed.items()
        ]
        return problems + [
            _unlisted_problem(sort, files) for sort, files in self._files_by_sort.items() if len(files) > MAX_ALIKE
        ]


def _unlisted_problem(sort: _Sort, files: list[str]) -> Problem:
    """One Problem that counts the unlisted ones of a sort; it names their file if all share it."""
    unlisted_files = list(dict.fromkeys(files[MAX_ALIKE:]))
    is_one_file = list(dict.fromkeys(files)) == unlisted_files[:1]
    in_files = "" if is_one_file else f", in {len(unlisted_files)} {'file' if len(unlisted_files) == 1 else 'files'}"
    fault = f"{len(files) - MAX_ALIKE} more with the same problem{in_files}"
    return Problem(unlisted_files[0] if is_one_file else "", sort.kind, sort.field, fault, sort.effect)
