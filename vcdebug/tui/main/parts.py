"""What keys and commands do beyond moving, a part per job: each is made when the first of its keys is pressed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from vcdebug.model.names import Seq
from vcdebug.tui.clipboard import Clipboard
from vcdebug.tui.main.background_work import BackgroundWork
from vcdebug.tui.main.command_line import CommandLine
from vcdebug.tui.main.current import Current, LayOver
from vcdebug.tui.widgets.grid import Grid

if TYPE_CHECKING:
    from vcdebug.tui.main.asking import Asking
    from vcdebug.tui.main.copying import Copying
    from vcdebug.tui.main.marks import Marks
    from vcdebug.tui.main.opening import Opening
    from vcdebug.tui.main.pages import Pages
    from vcdebug.tui.main.what_if import WhatIf


class Shared(NamedTuple):
    """What the parts work with."""

    current: Current
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


class Parts:
    """The parts, each handed what it needs."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @cached_property
    def marks(self) -> Marks:
        """Breakpoints, watches and bookmarks where the cursor is."""
        from vcdebug.tui.main.marks import Marks

        shared = self._shared
        return Marks(shared.current, shared.commands, shared.lay_over, shared.focused)

    @cached_property
    def what_if(self) -> WhatIf:
        """Edits, and leaving with some."""
        from vcdebug.tui.main.what_if import WhatIf

        shared = self._shared
        return WhatIf(shared.current, shared.commands, shared.lay_over, shared.focused)

    @cached_property
    def pages(self) -> Pages:
        """What lies over the screen."""
        from vcdebug.tui.main.pages import Pages

        shared = self._shared
        return Pages(
            shared.current,
            shared.work,
            shared.lay_over,
            shared.clipboard,
            go=shared.go,
            follow=self.marks.follow,
            run=shared.commands.run,
        )

    @cached_property
    def copying(self) -> Copying:
        """What can be copied."""
        from vcdebug.tui.main.copying import Copying

        shared = self._shared
        return Copying(
            shared.current,
            shared.lay_over,
            shared.clipboard,
            focused=shared.focused,
            place=shared.place,
            copy=shared.copy,
        )

    @cached_property
    def asking(self) -> Asking:
        """Questions and remedies."""
        from vcdebug.tui.main.asking import Asking

        shared = self._shared
        return Asking(
            shared.current,
            shared.work,
            self.pages,
            shared.lay_over,
            focused=shared.focused,
            run=shared.commands.run,
            show=shared.commands.show,
        )

    @cached_property
    def opening(self) -> Opening:
        """What commands open by name."""
        from vcdebug.tui.main.opening import Opening

        shared = self._shared
        return Opening(shared.current, self.pages, shared.work, shared.place, shared.of_screen)
