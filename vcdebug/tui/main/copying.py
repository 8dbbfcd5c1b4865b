"""Copying from the main screen: what there is to copy here, and where it goes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vcdebug.errors import VcdebugError
from vcdebug.tui.clipboard import Clipboard
from vcdebug.tui.main.current import Current, LayOver
from vcdebug.tui.screens.copy import Chosen, CopyScreen, Offer
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import plain


@dataclass(eq=False)
class Copying:
    """The menu of what can be copied, and the whole panel by one key."""

    current: Current
    lay_over: LayOver
    clipboard: Clipboard
    focused: Callable[[], Grid]
    place: str
    """What a command line calls the snapshot."""
    copy: Callable[[str, Clipboard], str]

    def panel(self) -> None:
        """The whole panel."""
        self._chosen(Chosen(self._panel(), to_file=False))

    def menu(self) -> None:
        """Choose what to copy."""
        where = "a file" if self.clipboard == "file" else "the clipboard"
        self.lay_over(CopyScreen([*self._offers()], where), self._chosen)

    def _panel(self) -> Offer:
        return Offer("p", "the panel", plain(self.focused().table))

    def _offers(self) -> Iterator[Offer]:
        from vcdebug.views.equation import equation

        grid, moment = self.focused(), self.current.moment
        row = grid.cursor_row
        if row is not None:
            yield Offer("c", "the cell", row.cells[min(grid.cursor_column, len(row.cells) - 1)].text.strip())
            yield Offer("r", "the row", "  ".join(cell.text.strip() for cell in row.cells))
        yield self._panel()
        if moment is None:
            return
        yield Offer("e", "the equation", plain(equation(moment.recording, moment.seq)))
        name = shlex.quote(self.place)
        yield Offer("o", "the command that opens this place", f"vcdebug open {name} --goto {moment.seq}")
        if moment.job:
            yield Offer("x", "the command that explains the job", f"vcdebug explain {name} {shlex.quote(moment.job)}")

    def _chosen(self, chosen: Chosen | None) -> None:
        if chosen is None:
            return
        how: Clipboard = "file" if chosen.to_file else self.clipboard
        try:
            self.current.say(f"copied {chosen.offer.what} {self.copy(chosen.offer.text, how)}")
        except VcdebugError as error:
            self.current.say(error.line(), error=True)
