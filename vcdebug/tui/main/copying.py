"""Copying from the main screen: what there is to copy here, and where it goes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vcdebug.errors import VcdebugError
from vcdebug.tui.clipboard import Clipboard
from vcdebug.tui.main.current import LayOver, ScreenState
from vcdebug.tui.screens.copy import CopyChoice, CopyOffer, CopyScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.base import format_table


@dataclass(eq=False)
class CopyCommands:
    """The menu of what can be copied, and the whole panel by one key."""

    current: ScreenState
    lay_over: LayOver
    clipboard: Clipboard
    focused: Callable[[], Grid]
    place: str
    """What a command line calls the snapshot."""
    copy: Callable[[str, Clipboard], str]

    def copy_panel(self) -> None:
        """The whole panel."""
        self._copy_chosen(CopyChoice(self._panel_offer(), to_file=False))

    def open_menu(self) -> None:
        """Choose what to copy."""
        where = "a file" if self.clipboard == "file" else "the clipboard"
        self.lay_over(CopyScreen([*self._list_offers()], where), self._copy_chosen)

    def _panel_offer(self) -> CopyOffer:
        return CopyOffer("p", "the panel", format_table(self.focused().table))

    def _list_offers(self) -> Iterator[CopyOffer]:
        from vcdebug.views.equation import event_equation

        grid, moment = self.focused(), self.current.moment
        row = grid.cursor_row
        if row is not None:
            yield CopyOffer("c", "the cell", row.cells[min(grid.cursor_column, len(row.cells) - 1)].text.strip())
            yield CopyOffer("r", "the row", "  ".join(cell.text.strip() for cell in row.cells))
        yield self._panel_offer()
        if moment is None:
            return
        yield CopyOffer("e", "the equation", format_table(event_equation(moment.recording, moment.seq)))
        name = shlex.quote(self.place)
        yield CopyOffer("o", "the command that opens this place", f"vcdebug open {name} --goto {moment.seq}")
        if moment.job:
            yield CopyOffer(
                "x", "the command that explains the job", f"vcdebug explain {name} {shlex.quote(moment.job)}"
            )

    def _copy_chosen(self, chosen: CopyChoice | None) -> None:
        if chosen is None:
            return
        how: Clipboard = "file" if chosen.to_file else self.clipboard
        try:
            self.current.say(f"copied {chosen.offer.what} {self.copy(chosen.offer.text, how)}")
        except VcdebugError as error:
            self.current.say(error.format_line(), error=True)
