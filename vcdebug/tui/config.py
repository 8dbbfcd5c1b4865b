"""Settings from the configuration file, and the themes. A faulty file never keeps the program from starting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

import yaml
from textual.theme import BUILTIN_THEMES, Theme

from vcdebug.errors import ConfigError, SnapshotError
from vcdebug.snapshot.file_access import read_file
from vcdebug.snapshot.manifest import Json
from vcdebug.tui.clipboard import CLIPBOARDS, Clipboard
from vcdebug.tui.key_names import key_name
from vcdebug.tui.keymap import ConfigProblem, check_keys, key_scopes
from vcdebug.tui.session_state import config_file, home_relative

DARK_THEME: Final = "dark"
_LIGHT_THEME = Theme(
    name="light",
    primary="#004a87",
    secondary="#005f9e",
    accent="#7a3e00",
    warning="#7a4b00",
    error="#a4002a",
    success="#0b5c24",
    foreground="#1c1c1c",
    background="#fbfbfb",
    surface="#ececec",
    panel="#e2e2e2",
    dark=False,
    variables={
        "text-success": "#0b5c24",
        "text-error": "#a4002a",
        "text-warning": "#7a4b00",
        "text-accent": "#7a3e00",
        "text-primary": "#004a87",
        "text-muted": "#555555",
        "primary-muted": "#cfe0f2",
        "border": "#004a87",
        "border-blurred": "#9a9a9a",
    },
)
_ANSI_VARIABLES = {
    "text-success": "ansi_green",
    "text-error": "ansi_red",
    "text-warning": "ansi_yellow",
    "text-accent": "ansi_magenta",
    "text-primary": "ansi_cyan",
    "text-muted": "ansi_default",
    "text": "ansi_default",
    "border": "ansi_cyan",
    "border-blurred": "ansi_default",
    "primary-muted": "ansi_bright_black",
}
_ANSI_LIGHT_VARIABLES = {
    **_ANSI_VARIABLES,
    "text-warning": "ansi_red",
    "text-accent": "ansi_magenta",
    "text-primary": "ansi_blue",
    "border": "ansi_blue",
    "primary-muted": "ansi_white",
}

THEMES: Final[dict[str, Theme]] = {
    DARK_THEME: replace(BUILTIN_THEMES["textual-dark"], name=DARK_THEME),
    "light": _LIGHT_THEME,
    "ansi": replace(
        BUILTIN_THEMES["ansi-dark"], name="ansi", variables={**BUILTIN_THEMES["ansi-dark"].variables, **_ANSI_VARIABLES}
    ),
    "ansi-light": replace(
        BUILTIN_THEMES["ansi-light"],
        name="ansi-light",
        variables={**BUILTIN_THEMES["ansi-light"].variables, **_ANSI_LIGHT_VARIABLES},
    ),
}
"""By the name that --theme, the settings and the command `theme` take; the ansi themes have 16 colours."""


def find_theme(word: str) -> str | None:
    """The theme with this name or the only one that begins with it; None for none."""
    found = [name for name in THEMES if name == word] or [name for name in THEMES if word and name.startswith(word)]
    return found[0] if len(found) == 1 else None


Word = TypeVar("Word", bound=str)
SETTING_NAMES: Final = ("theme", "mouse", "clipboard", "keys")


@dataclass(frozen=True, slots=True)
class UserSettings:
    """The settings in force."""

    theme: str = DARK_THEME
    mouse: bool = True
    clipboard: Clipboard = "auto"
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by the id of a binding, where they differ from the default."""
    problems: tuple[str, ...] = ()
    """One line per fault of the file."""

    def with_flags(self, *, theme: str | None = None, mouse: bool | None = None) -> UserSettings:
        """A copy with the options of the command line, which override the file."""
        return replace(self, theme=theme or self.theme, mouse=self.mouse if mouse is None else mouse)


def read_settings(path: Path | None = None) -> UserSettings:
    """The settings of a file; None reads the user's own, if it exists. Raises ConfigError for a missing file."""
    wanted = config_file() if path is None else path
    if not wanted.exists():
        if path is None:
            return UserSettings()  # only a file that was named has to exist
        raise ConfigError("no such file", "--print-config prints one to begin with", str(path))
    try:
        content = yaml.safe_load(read_file(wanted).decode())
    except (SnapshotError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = str(getattr(error, "problem", None) or getattr(error, "message", None) or error).splitlines()[0]
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark is not None else ""
        return UserSettings(problems=(f"{home_relative(wanted)}: {place}{reason}; the usual settings hold",))
    settings, lines = parse_settings({} if content is None else content)
    return replace(settings, problems=tuple(f"{home_relative(wanted)}: {line}" for line in lines))


def parse_settings(content: Json) -> tuple[UserSettings, list[ConfigProblem]]:
    """The settings in a parsed file, and its faults."""
    if not isinstance(content, dict):
        return UserSettings(), [ConfigProblem("the file", "is no mapping of settings", "the usual ones hold")]
    lines = [
        ConfigProblem(str(name), "no setting of this name", f"ignored; there are {', '.join(SETTING_NAMES)}")
        for name in content
        if name not in SETTING_NAMES
    ]
    usual = UserSettings()
    theme = _known_or_usual("theme", content.get("theme", usual.theme), tuple(THEMES), usual.theme, lines)
    clipboard = _known_or_usual(
        "clipboard", content.get("clipboard", usual.clipboard), CLIPBOARDS, usual.clipboard, lines
    )
    mouse = content.get("mouse", usual.mouse)
    if not isinstance(mouse, bool):
        lines.append(ConfigProblem("mouse", f"{mouse!r} is neither on nor off", "it is on"))
        mouse = usual.mouse
    keys, wrong = check_keys(_keys_as_text(content.get("keys"), lines))
    return UserSettings(theme, mouse, clipboard, keys), [*lines, *wrong]


def _known_or_usual(name: str, value: object, known: tuple[Word, ...], usual: Word, lines: list[ConfigProblem]) -> Word:
    found = next((one for one in known if one == value), None)
    if found is None:
        lines.append(ConfigProblem(name, f"{value!r} is none of {', '.join(known)}", f"it is {usual}"))
    return usual if found is None else found


def _keys_as_text(keys: object, lines: list[ConfigProblem]) -> dict[str, str]:
    """Binding ids with their keys as text: `n,f10`, or a list of keys."""
    if keys is None:
        return {}
    if not isinstance(keys, dict):
        lines.append(ConfigProblem("keys", "is no mapping of binding names to keys", "the usual keys hold"))
        return {}
    written: dict[str, str] = {}
    for name, value in keys.items():
        if isinstance(value, list):
            # Textual separates keys by commas, so the key itself has to be named.
            written[str(name)] = ",".join("comma" if key == "," else str(key) for key in value)
        elif isinstance(value, str | int) and not isinstance(value, bool):
            written[str(name)] = "comma" if value == "," else str(value)
        else:
            lines.append(ConfigProblem(f"keys.{name}", f"{value!r} is no key", "the usual ones hold"))
    return written


def example_config() -> str:
    """The text of a file with all settings and bindings at their defaults."""
    lines = [
        "# vcdebug's settings: what is left out is as written here.",
        f"# The usual place is {home_relative(config_file())}; --config names another one.",
        "",
        f"theme: {DARK_THEME}  # {', '.join(THEMES)}; NO_COLOR in the environment goes before it",
        "mouse: on  # off leaves the mouse to the terminal; --no-mouse does the same",
        f"clipboard: auto  # {', '.join(CLIPBOARDS)}; auto is the terminal (OSC 52) and a native tool, if there is one",
        "",
        "# Keys by the name of the binding: one key or several, 'n,f10'. Names of keys: a letter or sign, f1 to f24,",
        "# enter, escape, space, tab, up, down, left, right, home, end, pageup, pagedown, delete, comma;",
        "# with ctrl+, shift+ or alt+ before them.",
        "keys:",
    ]
    seen: dict[str, None] = {}
    for scope in key_scopes():
        lines += [f"  # -- {scope.name}"] if scope.bindings else []
        for binding in scope.bindings:
            if binding.id and binding.id not in seen:
                seen[binding.id] = None
                lines.append(f"  # {binding.id}: {_yaml_key(binding.key)}  # {binding.description}")
    return "\n".join(lines) + "\n"


def _yaml_key(keys: str) -> str:
    written = ",".join(key.strip() for key in keys.split(","))
    shown = key_name(written)
    return f'"{shown if len(shown) == 1 and shown.isascii() else written}"'
