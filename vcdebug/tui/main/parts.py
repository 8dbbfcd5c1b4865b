"""What keys and commands do beyond moving, a part per job: each is made when the first of its keys is pressed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, TypeVar

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

Part = TypeVar("Part")


@dataclass(eq=False)
class Parts:
    """The parts, and what they work with; each is handed what the arguments of its class name."""

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

    def _made(self, part: Callable[..., Part]) -> Part:
        return part(**{name: getattr(self, name) for name in signature(part).parameters})

    @cached_property
    def marks(self) -> Marks:
        """Breakpoints, watches and bookmarks where the cursor is."""
        from vcdebug.tui.main.marks import Marks

        return self._made(Marks)

    @cached_property
    def what_if(self) -> WhatIf:
        """Edits, and leaving with some."""
        from vcdebug.tui.main.what_if import WhatIf

        return self._made(WhatIf)

    @cached_property
    def pages(self) -> Pages:
        """What lies over the screen."""
        from vcdebug.tui.main.pages import Pages

        return self._made(Pages)

    @cached_property
    def copying(self) -> Copying:
        """What can be copied."""
        from vcdebug.tui.main.copying import Copying

        return self._made(Copying)

    @cached_property
    def asking(self) -> Asking:
        """Questions and remedies."""
        from vcdebug.tui.main.asking import Asking

        return self._made(Asking)

    @cached_property
    def opening(self) -> Opening:
        """What commands open by name."""
        from vcdebug.tui.main.opening import Opening

        return self._made(Opening)
