"""All bindings by the place where they hold, and the keys that somebody has chosen for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from textual.binding import Binding, BindingType

from vcdebug.framework.registry import resolve_reference
from vcdebug.tui.key_names import key_name, textual_key
from vcdebug.tui.main.keys import MAIN_KEYS
from vcdebug.tui.panels import PANELS
from vcdebug.tui.panels import panel_keys as panel_keys
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Prompt

MAIN, TABLE = "main screen", "any table"
OVERLAY_SCREENS: Final = (
    ("a page", "pages:DetailScreen"),
    ("breakpoint dialog", "dialogs:BreakpointScreen"),
    ("copy menu", "dialogs:CopyScreen"),
    ("chooser", "chooser:ChooserScreen"),
    ("a page that leads on", "pages:PageScreen"),
    ("leaving with edits", "dialogs:ConfirmLeaveScreen"),
)
"""Screens that lie over the main one, or come before it: in `tui/screens`, imported when somebody opens them."""


class KeyScope(NamedTuple):
    """Where bindings hold; inner places come before the ones around them."""

    name: str
    bindings: tuple[Binding, ...]
    on_main: bool = False
    """Whether the main screen's keys hold there too."""


class ConfigProblem(NamedTuple):
    """Something wrong in a configuration file: what about, what is wrong, and what happens instead."""

    about: str
    problem: str
    effect: str

    def __str__(self) -> str:
        return f"{self.about}: {self.problem}; {self.effect}"


def key_scopes() -> tuple[KeyScope, ...]:
    """Every place with keys of its own."""
    return (
        KeyScope(MAIN, _plain_bindings(MAIN_KEYS), on_main=True),
        KeyScope(TABLE, _plain_bindings(Grid.BINDINGS), on_main=True),
        *(KeyScope(panel.title, panel_keys(panel), on_main=True) for panel in PANELS),
        KeyScope("typing a line", _plain_bindings(Prompt.BINDINGS)),
        *(KeyScope(name, _plain_bindings(_screen_bindings(screen))) for name, screen in OVERLAY_SCREENS),
    )


def bindings_by_id() -> dict[str, Binding]:
    """Every binding by its id."""
    return {binding.id: binding for scope in key_scopes() for binding in scope.bindings if binding.id}


def _screen_bindings(screen: str) -> Iterable[BindingType]:
    """The bindings of a screen alone."""
    own: Iterable[BindingType] = vars(resolve_reference(f"vcdebug.tui.screens.{screen}")).get("BINDINGS", ())
    return own


def main_screen_keys(name: str, chosen: Mapping[str, str]) -> list[str]:
    """The keys in force for what the main screen can do."""
    return binding_keys(next(binding for binding in _plain_bindings(MAIN_KEYS) if binding.id == name), chosen)


def binding_keys(binding: Binding, chosen: Mapping[str, str]) -> list[str]:
    """The keys in force for a binding."""
    keys = chosen.get(binding.id or "", binding.key)
    return [textual_key(key) or key.strip() for key in keys.split(",")]


def check_keys(written: Mapping[str, str]) -> tuple[dict[str, str], list[ConfigProblem]]:
    """The keys that can be had as wished, and a line for each that cannot."""
    known = bindings_by_id()
    lines: list[ConfigProblem] = []
    chosen: dict[str, str] = {}
    for name, keys in written.items():
        if name not in known:
            lines.append(ConfigProblem(f"keys.{name}", "no binding of this name", "ignored; --print-config lists them"))
            continue
        good = [(key, textual_key(key)) for key in keys.split(",")]
        lines += [
            ConfigProblem(f"keys.{name}", f"no key {key.strip()!r}", "left out") for key, meant in good if meant is None
        ]
        chosen[name] = ",".join(dict.fromkeys(meant for _, meant in good if meant is not None))
        if chosen[name] in ("", ",".join(binding_keys(known[name], {}))):
            del chosen[name]
    return _drop_collisions(chosen, known, lines)


def _drop_collisions(
    chosen: dict[str, str], known: Mapping[str, Binding], lines: list[ConfigProblem]
) -> tuple[dict[str, str], list[ConfigProblem]]:
    """A chosen key that means something else in the same place already is given back; the later wish yields."""
    while (found := _find_collision(chosen)) is not None:
        name, key, other, where = found
        del chosen[name]
        kept = ", ".join(key_name(kept) for kept in binding_keys(known[name], {}) if key_name(kept))
        what = f"{key_name(key)} is already {other} ({where})"
        lines.append(ConfigProblem(f"keys.{name}", what, f"{name} keeps {kept}"))
    return chosen, lines


def _find_collision(chosen: Mapping[str, str]) -> tuple[str, str, str, str] | None:
    """A chosen binding, its key, and what else the key means where both hold."""
    places = key_scopes()
    wished = list(chosen)
    for name in reversed(wished):
        homes = [scope for scope in places if any(binding.id == name for binding in scope.bindings)]
        for home in homes:
            for scope in (scope for scope in places if _can_meet(home, scope)):
                for other in scope.bindings:
                    shared = _shared_key(name, other, chosen)
                    if shared is not None and wished.index(name) > _change_rank(other.id, wished):
                        return name, shared, str(other.id), scope.name
    return None


def _change_rank(name: str | None, wished: list[str]) -> int:
    """Bindings with their default key come before those that the settings changed."""
    return wished.index(name) if name in wished else -1


def _shared_key(name: str, other: Binding, chosen: Mapping[str, str]) -> str | None:
    if other.id == name:
        return None
    keys = binding_keys(other, chosen)
    return next((key for key in chosen[name].split(",") if key in keys), None)


def _can_meet(one: KeyScope, other: KeyScope) -> bool:
    """Whether the keys of both can be wanted at one focus."""
    if one.name == other.name or TABLE in (one.name, other.name):
        return True
    return one.on_main and other.on_main and MAIN in (one.name, other.name)


def _plain_bindings(bindings: Iterable[BindingType]) -> tuple[Binding, ...]:
    return tuple(binding for binding in bindings if isinstance(binding, Binding))
