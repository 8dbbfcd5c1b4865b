"""The panel Source: the function of an event, and its text in the user's checkout."""

from pathlib import Path

import pytest

from tests.recorded import bundled
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.driver import Driver
from vcdebug.errors import VcdebugError
from vcdebug.files.text_files import open_source
from vcdebug.views.panels import PANEL_VIEWS
from vcdebug.views.pieces import text_of
from vcdebug.views.table import Table


def source_panel(folder: Path | None = None) -> Table:
    """The panel at gang's first answer about victims."""
    driver = Driver(bundled())
    driver.source = None if folder is None else open_source(str(folder))
    driver.goto_event(parse_breakpoint("break gang.preemptableFn", 1).hit_seqs(bundled())[0])
    table: Table = PANEL_VIEWS["source"].build_table(driver.current_state())
    return table


def checkout(folder: Path, before: int) -> Path:
    """A checkout whose gang.go has `before` lines before the function."""
    file = folder / "pkg" / "scheduler" / "plugins" / "gang" / "gang.go"
    file.parent.mkdir(parents=True)
    body = ["\tpreemptableFn := func() {", *(f"\t\tline{number}" for number in range(40))]
    file.write_text("\n".join(["//"] * before + body), encoding="utf-8")
    return folder


def head_of(table: Table) -> list[str]:
    return [text_of(line) for line in table.header]


def test_without_a_checkout_it_names_function_file_release_and_rule() -> None:
    shown = source_panel()
    assert ["gang.preemptableFn plugins/gang/gang.go:97-125 in master of 2026-08-20"] == head_of(shown)[:1]
    assert head_of(shown)[1].startswith("rule: ")
    assert [] == list(shown.rows)


def test_a_checkout_shows_the_functions_text(tmp_path: Path) -> None:
    rows = list(source_panel(checkout(tmp_path, 96)).rows)
    assert ["97", "    preemptableFn := func() {"] == [cell.text for cell in rows[0].cells]
    assert 125 - 97 + 1 == len(rows)


def test_a_checkout_of_another_release_says_which_is_needed(tmp_path: Path) -> None:
    shown = source_panel(checkout(tmp_path, 50))
    assert [] == list(shown.rows)
    assert "git checkout ed72c7c81" in head_of(shown)[-1]


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VcdebugError, match="not a checkout of Volcano"):
        open_source(str(tmp_path))
