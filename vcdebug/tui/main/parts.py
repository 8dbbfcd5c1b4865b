"""The parts of the main screen that keys and commands use beyond moving."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from vcdebug.tui.main.command_line import ScreenTools

if TYPE_CHECKING:
    from vcdebug.tui.main.cursor_commands import CopyCommands, MarkCommands, WhatIfCommands
    from vcdebug.tui.main.pages import CommandTargets, LessonCommands, PageOpener, QuestionCommands


class ScreenParts(Struct, eq=False, dict=True):
    """The parts share the screen's tools. The first frame needs none of them: each is imported at its first use."""

    tools: ScreenTools
    of_screen: Mapping[str, Callable[[str], object]]
    """Callbacks of the commands that act on the screen itself, by name."""

    @cached_property
    def mark_commands(self) -> MarkCommands:
        from vcdebug.tui.main.cursor_commands import MarkCommands

        return MarkCommands(self.tools)

    @cached_property
    def what_if_commands(self) -> WhatIfCommands:
        from vcdebug.tui.main.cursor_commands import WhatIfCommands

        return WhatIfCommands(self.tools)

    @cached_property
    def copy_commands(self) -> CopyCommands:
        from vcdebug.tui.main.cursor_commands import CopyCommands

        return CopyCommands(self.tools)

    @cached_property
    def page_opener(self) -> PageOpener:
        from vcdebug.tui.main.pages import PageOpener

        return PageOpener(self.tools, self.mark_commands.follow_figure)

    @cached_property
    def question_commands(self) -> QuestionCommands:
        from vcdebug.tui.main.pages import QuestionCommands

        return QuestionCommands(self.tools, self.page_opener)

    @cached_property
    def lesson_commands(self) -> LessonCommands:
        from vcdebug.tui.main.pages import LessonCommands

        return LessonCommands(self.tools, self.page_opener)

    @cached_property
    def command_targets(self) -> CommandTargets:
        from vcdebug.tui.main.pages import CommandTargets

        return CommandTargets(self.tools, self.page_opener, self.of_screen)
