"""What a command is: a name, its arguments, and one method that answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import ArgumentParser, Namespace
from enum import Enum, auto
from typing import ClassVar

from vcdebug.cli.output import Output


class CommandOutcome(Enum):
    """How a command ended; `cli/main.py` makes an exit code of it."""

    DONE = auto()
    UNSCHEDULED = auto()
    """The job that was asked about stays unscheduled."""
    DIFFERENT = auto()
    """Two runs decided differently."""
    PROBLEMS = auto()
    """The snapshot has problems."""
    FAILED = auto()
    """Some of several runs failed; the others are reported."""
    INTERRUPTED = auto()
    """Somebody had enough; what was done until then is reported."""


class Command(ABC):
    """One subcommand. Engine rooms are imported inside `execute`, so that help stays quick."""

    HELP: ClassVar[str]
    """One sentence, shown by --help."""
    EXITS: ClassVar[str] = "exit status: 0 done, 1 error"

    @abstractmethod
    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the command's arguments."""

    @abstractmethod
    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        """Do it."""
