"""The parts of the main screen that keys and commands use beyond moving."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from vcdebug.model.names import Seq
from vcdebug.tui.clipboard import Clipboard
from vcdebug.tui.main.background_work import BackgroundWork, LayOver, ScreenState
from vcdebug.tui.main.command_line import CommandLine
from vcdebug.tui.widgets.grid import Grid

if TYPE_CHECKING:
    from vcdebug.tui.main.cursor_commands import CopyCommands, MarkCommands, WhatIfCommands
    from vcdebug.tui.main.pages import CommandTargets, LessonCommands, PageOpener, QuestionCommands
    from vcdebug.tui.session_state import SessionStore
    from vcdebug.tui.worker import NextScreen


class ScreenParts(Struct, eq=False, dict=True):
    """The parts of the main screen, which share these fields; each part is imported and made at its first use."""

    current: ScreenState
    work: BackgroundWork
    commands: CommandLine
    lay_over: LayOver
    focused: Callable[[], Grid]
    clipboard: Clipboard
    snapshot_word: str
    """The snapshot as a word of a command line."""
    go_to_event: Callable[[Seq], None]
    copy: Callable[[str, Clipboard], str]
    of_screen: Mapping[str, Callable[[str], object]]
    """Callbacks of the commands that act on the screen itself, by name."""
    store: SessionStore
    open_next: Callable[[NextScreen], None]
    """Opens another snapshot in place of this one; asks first if edits would be lost."""

    # The first frame needs none of these modules, so each is imported by its property.

    @cached_property
    def mark_commands(self) -> MarkCommands:
        from vcdebug.tui.main.cursor_commands import MarkCommands

        return MarkCommands(self.current, self.commands, self.lay_over, self.focused)

    @cached_property
    def what_if_commands(self) -> WhatIfCommands:
        from vcdebug.tui.main.cursor_commands import WhatIfCommands

        return WhatIfCommands(self.current, self.commands, self.lay_over, self.focused)

    @cached_property
    def page_opener(self) -> PageOpener:
        from vcdebug.tui.main.pages import PageOpener

        return PageOpener(
            self.current,
            self.work,
            self.lay_over,
            self.clipboard,
            go_to_event=self.go_to_event,
            follow=self.mark_commands.follow_figure,
            run_command=self.commands.run_command,
        )

    @cached_property
    def copy_commands(self) -> CopyCommands:
        from vcdebug.tui.main.cursor_commands import CopyCommands

        return CopyCommands(
            self.current,
            self.lay_over,
            self.clipboard,
            focused=self.focused,
            snapshot_word=self.snapshot_word,
            copy=self.copy,
        )

    @cached_property
    def question_commands(self) -> QuestionCommands:
        from vcdebug.tui.main.pages import QuestionCommands

        return QuestionCommands(
            self.current,
            self.work,
            self.page_opener,
            self.lay_over,
            focused=self.focused,
            run_command=self.commands.run_command,
            show=self.commands.show_reply,
        )

    @cached_property
    def lesson_commands(self) -> LessonCommands:
        from vcdebug.tui.main.pages import LessonCommands

        return LessonCommands(self.current, self.store, self.page_opener, self.lay_over, self.open_next)

    @cached_property
    def command_targets(self) -> CommandTargets:
        from vcdebug.tui.main.pages import CommandTargets

        return CommandTargets(self.current, self.page_opener, self.work, self.snapshot_word, self.of_screen)
