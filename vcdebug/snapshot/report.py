"""Report: collects the Problems of one load; many alike become a few and a count."""

from __future__ import annotations

import re

from vcdebug.snapshot.problem import Problem

ALIKE = 5
"""Problems of one sort that are listed one by one."""

_INDEX = re.compile(r"\[[^\]]*\]")


class Report:
    """The Problems found so far, in the order found."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._alike: dict[tuple[str, str, str, str, str], int] = {}

    def add(self, what: str, effect: str, *, file: str = "", object: str = "", field: str = "") -> None:
        """Note a Problem; past `ALIKE` of the same sort they are only counted."""
        kind, _, name = object.partition(" ")
        sort = (file, kind, _INDEX.sub("[]", field), effect, "" if name else what)
        count = self._alike.get(sort, 0)
        self._alike[sort] = count + 1
        if count < ALIKE:
            self._problems.append(Problem(file, object, field, what, effect))

    def problems(self) -> list[Problem]:
        """All Problems, with one line for each sort that was cut off."""
        cut = [
            Problem(file, kind, field, f"{count - ALIKE} more with the same fault", effect)
            for (file, kind, field, effect, _), count in self._alike.items()
            if count > ALIKE
        ]
        return self._problems + cut
