"""Settings from the configuration file, and the themes. A faulty file never keeps the program from starting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Final

import yaml
from msgspec import Struct, field
from msgspec.structs import replace
from textual.color import BLACK, WHITE, Color
from textual.theme import BUILTIN_THEMES, Theme

from vcdebug.errors import ConfigError, SnapshotError, closest_name_hint
from vcdebug.snapshot.file_access import read_file
from vcdebug.snapshot.manifest import Json
from vcdebug.tui.clipboard import CLIPBOARDS, Clipboard
from vcdebug.tui.key_names import key_name
from vcdebug.tui.keymap import ConfigProblem, check_keys, key_scopes
from vcdebug.tui.session_state import config_file, home_relative

DEFAULT_THEME: Final = "dark"
_SHORT_NAMES: Final = {DEFAULT_THEME: "textual-dark", "light": "textual-light", "ansi": "ansi-dark"}
THEME_NAMES: Final = (*_SHORT_NAMES, *BUILTIN_THEMES)
"""The names that --theme, the settings and the command `theme` take; the ansi themes have 16 colours."""


def find_theme(word: str) -> str | None:
    """Textual's name of the theme with this name or unique prefix; None without one."""
    names = [word] if word in THEME_NAMES else [name for name in THEME_NAMES if word and name.startswith(word)]
    theme_ids = dict.fromkeys(_SHORT_NAMES.get(name, name) for name in names)
    return next(iter(theme_ids)) if len(theme_ids) == 1 else None


def require_theme(word: str) -> str:
    """Same as `find_theme`, but raises ConfigError, which names the closest theme or all, without one."""
    name = find_theme(word)
    if name is None:
        hint = closest_name_hint(word, THEME_NAMES, f"there are {', '.join(THEME_NAMES)}")
        raise ConfigError(f"no theme {word!r}", hint)
    return name


EXAMPLE_WIDTH: Final = 100
"""Width of the lines that list names in the example."""
SETTING_NAMES: Final = ("theme", "mouse", "clipboard", "keys")


class UserSettings(Struct, frozen=True):
    """The settings in force."""

    theme: str = DEFAULT_THEME
    mouse: bool = True
    clipboard: Clipboard = "auto"
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by the id of a binding, where they differ from the default."""
    problems: tuple[str, ...] = ()
    """One line per fault of the file."""
    requested_theme: str = ""
    """The theme of the command line, which is not saved."""

    def with_flags(self, *, theme: str | None = None, mouse: bool | None = None) -> UserSettings:
        """A copy with the options of the command line, which override the file."""
        return replace(self, requested_theme=theme or "", mouse=self.mouse if mouse is None else mouse)


def read_settings(path: Path | None = None) -> UserSettings:
    """The settings of a file; None reads the user's own, if it exists. Raises ConfigError for a missing file."""
    config_path = config_file() if path is None else path
    if not config_path.exists():
        if path is None:
            return UserSettings()  # only a file that was named has to exist
        raise ConfigError("no such file", "--print-config prints one to begin with", str(path))
    try:
        content = yaml.safe_load(read_file(config_path).decode())
    except (SnapshotError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = str(getattr(error, "problem", None) or getattr(error, "message", None) or error).splitlines()[0]
        mark = getattr(error, "problem_mark", None)
        position = f"line {mark.line + 1}: " if mark is not None else ""
        return UserSettings(problems=(f"{home_relative(config_path)}: {position}{reason}; the usual settings hold",))
    settings, lines = parse_settings({} if content is None else content)
    return replace(settings, problems=tuple(f"{home_relative(config_path)}: {line}" for line in lines))


def parse_settings(content: Json) -> tuple[UserSettings, list[ConfigProblem]]:
    """The settings in a parsed file, and its faults."""
    if not isinstance(content, dict):
        return UserSettings(), [ConfigProblem("the file", "is not a mapping of settings", "the usual ones hold")]
    faults = [
        ConfigProblem(str(name), "no setting of this name", f"ignored; there are {', '.join(SETTING_NAMES)}")
        for name in content
        if name not in SETTING_NAMES
    ]
    defaults = UserSettings()
    theme = _theme_or_usual(content.get("theme", defaults.theme), defaults.theme, faults)
    clipboard = _clipboard_or_usual(content.get("clipboard", defaults.clipboard), defaults.clipboard, faults)
    mouse = content.get("mouse", defaults.mouse)
    if not isinstance(mouse, bool):
        faults.append(ConfigProblem("mouse", f"{mouse!r} is neither on nor off", "it is on"))
        mouse = defaults.mouse
    keys, key_faults = check_keys(_keys_as_text(content.get("keys"), faults))
    return UserSettings(theme, mouse, clipboard, keys), [*faults, *key_faults]


def _clipboard_or_usual(value: object, usual: Clipboard, faults: list[ConfigProblem]) -> Clipboard:
    match = next((word for word in CLIPBOARDS if word == value), None)
    if match is None:
        faults.append(ConfigProblem("clipboard", f"{value!r} is not one of {', '.join(CLIPBOARDS)}", f"it is {usual}"))
    return usual if match is None else match


def _theme_or_usual(value: object, default_theme: str, faults: list[ConfigProblem]) -> str:
    if isinstance(value, str) and find_theme(value) is not None:
        return value
    hint = closest_name_hint(str(value), THEME_NAMES, "--print-config lists them")
    faults.append(ConfigProblem("theme", f"{value!r} is not a theme ({hint})", f"it is {default_theme}"))
    return default_theme


def _keys_as_text(keys: object, faults: list[ConfigProblem]) -> dict[str, str]:
    """Binding ids with their keys as text: `n,f10`, or a list of keys."""
    if keys is None:
        return {}
    if not isinstance(keys, dict):
        faults.append(ConfigProblem("keys", "is not a mapping of binding names to keys", "the usual keys hold"))
        return {}
    key_texts: dict[str, str] = {}
    for name, value in keys.items():
        if isinstance(value, list):
            # Textual separates keys by commas, so the key itself has to be named.
            key_texts[str(name)] = ",".join("comma" if key == "," else str(key) for key in value)
        elif isinstance(value, str | int) and not isinstance(value, bool):
            key_texts[str(name)] = "comma" if value == "," else str(value)
        else:
            faults.append(ConfigProblem(f"keys.{name}", f"{value!r} is not a key", "the usual ones hold"))
    return key_texts


def example_config() -> str:
    """The text of a file with all settings and bindings at their defaults."""
    lines = [
        "# vcdebug's settings: what is left out is as written here.",
        f"# The usual place is {home_relative(config_file())}; --config names another one.",
        "",
        f"theme: {DEFAULT_THEME}  # NO_COLOR in the environment goes before it; there are:",
        *(f"#   {line}" for line in wrap(", ".join(THEME_NAMES), EXAMPLE_WIDTH)),
        "mouse: on  # off leaves the mouse to the terminal; --no-mouse does the same",
        f"clipboard: auto  # {', '.join(CLIPBOARDS)}; auto is the terminal (OSC 52) and a native tool, if there is one",
        "",
        "# Keys by the name of the binding: one key or several, 'n,f10'. Names of keys: a letter or sign, f1 to f24,",
        "# enter, escape, space, tab, up, down, left, right, home, end, pageup, pagedown, delete, comma;",
        "# with ctrl+, shift+ or alt+ before them.",
        "keys:",
    ]
    listed_ids: dict[str, None] = {}
    for scope in key_scopes():
        lines += [f"  # -- {scope.name}"] if scope.bindings else []
        for binding in scope.bindings:
            if binding.id and binding.id not in listed_ids:
                listed_ids[binding.id] = None
                lines.append(f"  # {binding.id}: {_yaml_key(binding.key)}  # {binding.description}")
    return "\n".join(lines) + "\n"


def _yaml_key(keys: str) -> str:
    key_list = ",".join(key.strip() for key in keys.split(","))
    display_name = key_name(key_list)
    return f'"{display_name if len(display_name) == 1 and display_name.isascii() else key_list}"'


# The text colours of a theme.


LEAST_CONTRAST: Final = 4.5
"""Least contrast ratio (WCAG) between text and its background."""
CURSOR_CONTRAST: Final = 5.5
"""Least contrast of plain text on the cursor's row; higher, so that coloured text can keep its hue."""
_GROUNDS: Final = ("background", "surface")
CURSOR_GROUND: Final = "primary-muted"
MUTED_INK: Final = "text-muted"
_INKS: Final = tuple(f"text-{role}" for role in ("success", "error", "warning", "accent", "primary", "secondary"))
_SHARES: Final = tuple(step / 20 for step in range(21))
_ANSI_DARK_INKS: Final = {
    "text-accent": "ansi_bright_blue",
    "text-primary": "ansi_bright_yellow",
    "text-secondary": "ansi_cyan",
    MUTED_INK: "ansi_default",
    CURSOR_GROUND: "ansi_bright_black",
}
_ANSI_LIGHT_INKS: Final = {
    "text-warning": "ansi_magenta",
    "text-accent": "ansi_blue",
    "text-primary": "ansi_magenta",
    "text-secondary": "ansi_black",
    MUTED_INK: "ansi_default",
    CURSOR_GROUND: "ansi_white",
}
"""Replacements for yellow and bright colours, which are hard to see on a light background."""


def readable_variables(theme: Theme, variables: Mapping[str, str], *, grey: bool = False) -> dict[str, str]:
    """A theme's variables; text colours are changed only as far as needed to be readable on all backgrounds.

    With `grey`, all but muted texts have one colour: as a shade of grey, red would be as faint as what is muted.
    """
    if theme.ansi:
        # Terminals define their 16 colours themselves: only another of the 16 can be chosen.
        return {**variables, **(_ANSI_DARK_INKS if theme.dark else _ANSI_LIGHT_INKS)}
    extreme = WHITE if theme.dark else BLACK
    background, surface = (Color.parse(variables[name]) for name in _GROUNDS)
    foreground = _readable_ink(Color.parse(variables["foreground"]), extreme, (background, surface))
    cursor = _cursor_ground(background, Color.parse(variables["primary"]), foreground)
    grounds = (background, surface, cursor)
    foreground = _readable_ink(foreground, extreme, grounds)
    own = {name: foreground if grey else Color.parse(variables[name]) for name in _INKS}
    inks = {name: _readable_ink(ink, extreme, grounds).hex for name, ink in own.items()}
    muted = next(
        _readable_colours(_colour_mixtures(background.blend(foreground, 0.5), foreground), grounds), foreground
    )
    changed = {"foreground": foreground.hex, MUTED_INK: muted.hex, CURSOR_GROUND: cursor.hex}
    return {**variables, **inks, **changed}


def _readable_ink(ink: Color, extreme: Color, grounds: Iterable[Color]) -> Color:
    """The text colour, moved towards white or black until it is readable on all backgrounds."""
    return next(_readable_colours(_colour_mixtures(ink, extreme), grounds), extreme)


def _cursor_ground(background: Color, primary: Color, foreground: Color) -> Color:
    """Background of the cursor's row: as much of the theme's primary colour as keeps plain text readable."""
    mixtures = list(_colour_mixtures(background, background.blend(primary, 0.3)))
    readable = (ground for ground in reversed(mixtures) if contrast_ratio(foreground, ground) >= CURSOR_CONTRAST)
    return next(readable, mixtures[len(mixtures) // 2])


def _colour_mixtures(start: Color, end: Color) -> Iterator[Color]:
    return (start.blend(end, share) for share in _SHARES)


def _readable_colours(inks: Iterable[Color], grounds: Iterable[Color]) -> Iterator[Color]:
    grounds = tuple(grounds)
    return (ink for ink in inks if min(contrast_ratio(ink, ground) for ground in grounds) >= LEAST_CONTRAST)


def contrast_ratio(colour: Color, other: Color) -> float:
    """WCAG's contrast ratio of two colours."""
    dark, light = sorted((_luminance(colour), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
