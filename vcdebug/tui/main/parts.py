"""What keys and commands do beyond moving, a part per job: each is made when the first of its keys is pressed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from vcdebug.model.names import Seq
from vcdebug.tui.clipboard import Clipboard
from vcdebug.tui.main.background_work import BackgroundWork, LayOver, ScreenState
from vcdebug.tui.main.command_line import CommandLine
from vcdebug.tui.widgets.grid import Grid

if TYPE_CHECKING:
    from vcdebug.tui.main.cursor_commands import CopyCommands, MarkCommands, WhatIfCommands
    from vcdebug.tui.main.pages import CommandTargets, PageOpener, QuestionCommands


class PartContext(NamedTuple):
    """What the parts work with."""

    current: ScreenState
    work: BackgroundWork
    commands: CommandLine
    lay_over: LayOver
    focused: Callable[[], Grid]
    clipboard: Clipboard
    place: str
    """What a command line calls the snapshot."""
    go: Callable[[Seq], None]
    copy: Callable[[str, Clipboard], str]
    of_screen: Mapping[str, Callable[[str], object]]
    """What commands ask of the screen itself, by name."""


class ScreenParts:
    """The parts, each handed what it needs."""

    def __init__(self, shared: PartContext) -> None:
        self._shared = shared

    @cached_property
    def mark_commands(self) -> MarkCommands:
        """Breakpoints, watches and bookmarks where the cursor is."""
        from vcdebug.tui.main.cursor_commands import MarkCommands

        shared = self._shared
        return MarkCommands(shared.current, shared.commands, shared.lay_over, shared.focused)

    @cached_property
    def what_if_commands(self) -> WhatIfCommands:
        """Edits, and leaving with some."""
        from vcdebug.tui.main.cursor_commands import WhatIfCommands

        shared = self._shared
        return WhatIfCommands(shared.current, shared.commands, shared.lay_over, shared.focused)

    @cached_property
    def page_opener(self) -> PageOpener:
        """What lies over the screen."""
        from vcdebug.tui.main.pages import PageOpener

        shared = self._shared
        return PageOpener(
            shared.current,
            shared.work,
            shared.lay_over,
            shared.clipboard,
            go=shared.go,
            follow=self.mark_commands.follow_figure,
            run=shared.commands.run_command,
        )

    @cached_property
    def copy_commands(self) -> CopyCommands:
        """What can be copied."""
        from vcdebug.tui.main.cursor_commands import CopyCommands

        shared = self._shared
        return CopyCommands(
            shared.current,
            shared.lay_over,
            shared.clipboard,
            focused=shared.focused,
            place=shared.place,
            copy=shared.copy,
        )

    @cached_property
    def question_commands(self) -> QuestionCommands:
        """Questions and remedies."""
        from vcdebug.tui.main.pages import QuestionCommands

        shared = self._shared
        return QuestionCommands(
            shared.current,
            shared.work,
            self.page_opener,
            shared.lay_over,
            focused=shared.focused,
            run=shared.commands.run_command,
            show=shared.commands.show_reply,
        )

    @cached_property
    def command_targets(self) -> CommandTargets:
        """What commands open by name."""
        from vcdebug.tui.main.pages import CommandTargets

        shared = self._shared
        return CommandTargets(shared.current, self.page_opener, shared.work, shared.place, shared.of_screen)
