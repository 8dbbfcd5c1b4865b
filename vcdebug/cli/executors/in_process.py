"""No worker: everything in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial

from vcdebug.cli.executors.base import Answer, Item, Result
from vcdebug.cli.failure import attempt


class InProcess:
    """This process, in order."""

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Answer[Result]]:
        for number, item in enumerate(items):
            yield Answer(number, attempt(partial(function, item)))
