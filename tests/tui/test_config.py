"""The settings file: its effects, and one clear line for each unusable setting."""

from pathlib import Path

import pytest
import yaml

from tests.tui.driving import NARROW, opened
from vcdebug.errors import ConfigError
from vcdebug.tui.app import VcdebugApp
from vcdebug.tui.config import THEME_NAMES, UserSettings, example_config, find_theme, read_settings
from vcdebug.tui.key_names import KeyHint, footer_entries, key_name, textual_key
from vcdebug.tui.keymap import bindings_by_id
from vcdebug.tui.session_state import SessionStore
from vcdebug.tui.widgets.bars import Status


def settings(tmp_path: Path, text: str) -> UserSettings:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path)


def test_without_a_file_the_usual_settings_hold() -> None:
    assert UserSettings() == read_settings()


def test_the_usual_file_lies_in_the_configuration_folder(own_folders: Path) -> None:
    path = own_folders / "config" / "vcdebug" / "config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("theme: light\nmouse: off\nclipboard: file\n")
    assert UserSettings("light", False, "file") == read_settings()


def test_a_file_that_was_named_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        read_settings(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("colour: red", "colour: no setting of this name; ignored; there are theme, mouse, clipboard, keys"),
        ("theme: pink", "theme: 'pink' is not a theme (--print-config lists them); it is dark"),
        ("theme: [nord]", "theme: ['nord'] is not a theme (did you mean nord?); it is dark"),
        ("clipboard: [osc52]", "clipboard: ['osc52'] is not one of auto, native, osc52, file; it is auto"),
        ("mouse: maybe", "mouse: 'maybe' is neither on nor off; it is on"),
        ("keys: n", "keys: is not a mapping of binding names to keys; the usual keys hold"),
        ("keys: {ovre: n}", "keys.ovre: no binding of this name; ignored; --print-config lists them"),
        ("keys: {over: hyperspace}", "keys.over: no key 'hyperspace'; left out"),
        ("keys: {over: s}", "keys.over: s is already into (main screen); over keeps n, F10"),
        ("keys: {over: j}", "keys.over: j is already table.down (any table); over keeps n, F10"),
        ("keys: {over: J, into: J}", "keys.into: J is already over (main screen); into keeps s, F11"),
        ("- a list", "the file: is not a mapping of settings; the usual ones hold"),
        ("theme: [", "line 1: while parsing a flow node"),
    ],
)
def test_invalid_setting_is_one_line_and_the_others_apply(tmp_path: Path, text: str, line: str) -> None:
    found = settings(tmp_path, text)
    assert 1 == len(found.problems)
    assert "config.yaml: " in found.problems[0]
    assert line.partition("while")[0] in found.problems[0]
    assert "\n" not in found.problems[0]


def test_two_bindings_can_change_places(tmp_path: Path) -> None:
    found = settings(tmp_path, "keys: {over: s, into: n}")
    assert ((), {"over": "s", "into": "n"}) == (found.problems, dict(found.keys))


def test_the_example_is_a_file_without_problems_that_changes_nothing(tmp_path: Path) -> None:
    assert UserSettings() == settings(tmp_path, example_config())
    every = [line.strip().removeprefix("# ") for line in example_config().splitlines() if line.startswith("  # ")]
    written = yaml.safe_load("\n".join(line for line in every if not line.startswith("--")))
    assert set(bindings_by_id()) == set(written)
    assert () == settings(tmp_path, yaml.safe_dump({"keys": written})).problems


@pytest.mark.parametrize(
    ("written", "meant"),
    [("?", "question_mark"), ("F10", "f10"), ("Ctrl+P", "ctrl+p"), ("esc", "escape"), ("N", "N"), ("nothing", None)],
)
def test_keys_are_written_as_people_call_them(written: str, meant: str | None) -> None:
    assert meant == textual_key(written)


def test_keys_are_shown_as_people_call_them() -> None:
    names = [key_name(key) for key in ("question_mark", "ctrl+p", "shift+f10", "f22", "escape", "left_curly_bracket")]
    assert ["?", "Ctrl+P", "Shift+F10", "", "Esc", "{"] == names


async def test_other_keys_work_and_footer_and_help_show_them(tmp_path: Path) -> None:
    chosen = settings(tmp_path, "keys: {over: [J, f10], into: n, help: f8}")
    async with opened("preempt-works", NARROW, settings=chosen) as desk:
        await desk.press("n")
        assert 1 == desk.seq
        await desk.press("s")
        assert 1 == desk.seq
        footer = {entry.effect: entry.key for entry in desk.main.query_one(Status).keys}
        assert ("J/N", "n/S") == (footer["over"], footer["into"])
        await desk.press("f8")
        rows = {row.cells[1].text: row.cells[0].text for row in desk.app.screen.table.rows}  # type: ignore[attr-defined]
        assert "J F10" == rows["Over: the next event or span on this level"]
        assert "F8" == rows["This help"]


async def test_a_problem_in_the_file_is_said_at_the_start_and_in_the_help(tmp_path: Path) -> None:
    chosen = settings(tmp_path, "theme: pink\nmouse: maybe\n")
    async with opened("preempt-works", settings=chosen) as desk:
        assert "theme: 'pink'" in desk.status()
        assert "(1 more line: ?)" in desk.status()
        await desk.press("question_mark", "end")
        await desk.press("slash")
        assert [] != [row for row in desk.main.session_keeper.lines if "mouse" in row]


async def test_each_theme_of_textual_can_be_chosen_by_command() -> None:
    async with opened("preempt-works", NARROW) as desk:
        for name in THEME_NAMES:
            await desk.command(f"theme {name}")
            assert find_theme(name) == desk.app.theme
        assert set(desk.app.available_themes) == set(map(find_theme, THEME_NAMES))


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("dark", "textual-dark"),
        ("ansi", "ansi-dark"),
        ("no", "nord"),
        ("li", "textual-light"),
        ("cat", None),
        ("", None),
    ],
)
def test_theme_is_chosen_by_name_or_prefix(word: str, meant: str | None) -> None:
    assert meant == find_theme(word)


async def test_a_theme_that_there_is_not_is_one_line_with_the_closest_name() -> None:
    async with opened("preempt-works", NARROW) as desk:
        await desk.command("theme nrod")
        assert "no theme 'nrod'; did you mean nord?" in desk.status()
        await desk.command("theme cat")
        assert "no theme 'cat'" in desk.status()
        await desk.command("theme")
        assert "there are dark, light, ansi, textual-dark" in desk.status()


async def test_the_chosen_theme_is_kept_until_the_settings_or_the_command_line_name_another(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    async with opened("preempt-works", NARROW, store=store) as desk:
        await desk.command("theme nord")
    for chosen, theme in (
        (UserSettings(), "nord"),
        (UserSettings(theme="light"), "textual-light"),
        (UserSettings().with_flags(theme="gruvbox"), "gruvbox"),
        (UserSettings().with_flags(theme="dark"), "textual-dark"),
        (UserSettings(), "nord"),
    ):
        assert theme == VcdebugApp(None, chosen, store).theme


async def test_a_theme_is_completed() -> None:
    async with opened("preempt-works", NARROW) as desk:
        await desk.press("colon", *"theme", "space", *"gruv", "tab", "enter")
        assert "gruvbox" == desk.app.theme


async def test_the_last_line_of_a_page_shows_the_keys_in_force(tmp_path: Path) -> None:
    chosen = settings(tmp_path, "clipboard: file\nkeys: {page.copy: K, table.sort: f3}")
    async with opened("preempt-works", NARROW, settings=chosen) as desk:
        await desk.press("question_mark")
        assert "/ filter   F3 sort   K copy   Esc back" in desk.screen()
        await desk.press("K")
        assert "copied to " in desk.screen()


async def test_tabs_and_frames_name_the_keys_in_force(tmp_path: Path) -> None:
    chosen = settings(tmp_path, "keys: {panel-jobs: J, panel-moment: f2}")
    async with opened("preempt-works", settings=chosen) as desk:
        await desk.press("J")
        assert desk.main.focused is desk.panel("jobs")
        assert "[J Jobs]" in desk.screen()
        assert "━<J> Jobs before the cycle━" in desk.screen()
        await desk.command("goto 2")
        assert "<F2> JobValid" in desk.screen()


def test_the_keys_of_a_hint_are_separated_by_a_stroke() -> None:
    hints = (KeyHint(("a", "b"), "both"), KeyHint(("a", "long"), "apart"), KeyHint(("none",), "nothing"))
    found = list(footer_entries(hints, {"a": ["n"], "b": ["s"], "long": ["f10"]}))
    assert [("n/s", "both"), ("n/F10", "apart")] == [(entry.key, entry.effect) for entry in found]
