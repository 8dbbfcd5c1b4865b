"""`make docs`: writes docs/keys.md from the key bindings, the commands and the kinds of breakpoints."""

from collections.abc import Iterator
from pathlib import Path

from vcdebug.amount_text import capitalize_first
from vcdebug.debugger.breakpoint import BREAKPOINT_OPTIONS
from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS, BreakpointKind
from vcdebug.debugger.commands import list_verbs
from vcdebug.debugger.fields import describe_fields
from vcdebug.framework.registry import resolve_reference
from vcdebug.tui.clipboard import CLIPBOARDS
from vcdebug.tui.config import THEME_NAMES
from vcdebug.tui.key_names import key_name
from vcdebug.tui.keymap import binding_keys, key_scopes
from vcdebug.views.panels import PANELS

PAGE = Path(__file__).parents[2] / "docs" / "keys.md"

HEAD = """# Keys, commands, breakpoints

This page is generated (`make docs`) from the bindings, commands and breakpoint kinds of the program; `?` shows the same
with the keys in force, and `/` searches it.

Both families of keys work at once: letters as in gdb and pudb, function keys as in editors. Capitals of `n` `s` `f` `c`
go back. Letters always work: some desktops keep F10 and F11 for themselves, and many terminals send Shift+F5, Shift+F10
and Shift+F11 as F17, F22 and F23, which are bound too.

Where habits contradict each other:

- `n` and `N` step. What is found with `/` is a filter, so there is no next match to go to: the rows that match are the
  ones that are left.
- `g` asks for an event number; `gg` is the first row of a table and `G` the last.
- `h` `j` `k` `l` move in the table that has the focus; in the flow `h` and `l` close and open a span.
- `u` and `d` are up and down: `u` goes to the beginning of the enclosing span, `d` back to where `u` came from.
  `Ctrl+D` and `Ctrl+U` move by a page.
- `r` is out, as in pudb (`f`, finish).
- `Esc` goes one step back: it stops work, closes the line or page, takes away message, zoom, filter and order.
- `q` leaves, and asks first only where edits would be lost.
- With the mouse on, hold Shift (Option on macOS) to select text as usual; `--no-mouse` leaves it to the terminal.

Keys of one burst (a paste, a macro, a slow line) are taken in order: each goes to what has the focus by then.
"""

FILTERS = """## Filters

`/` filters the table that has the focus, with every key. `,` sorts any table by the column of the cursor.

| typed | keeps |
|---|---|
| `gpu` | rows that contain it; without capitals it does not matter how it is written |
| `GPU` | a capital asks for exactly this |
| `^node-0[1-3] .*ready` | an expression; a space also matches the gap between two columns |
| `!ready` | all rows that do not match |
| `~lftn` or `-f lftn` | rows that have these letters in this order |
| `(` | text that is not an expression (yet) is plain text, and the frame says so |
"""

_THEMES = (
    ", ".join(f"`{name}`" for name in THEME_NAMES)
    + "; `NO_COLOR` in the environment goes before it; also `--theme` and `:theme`"
)
_CLIPBOARDS = (
    ", ".join(f"`{name}`" for name in CLIPBOARDS)
    + ": `auto` sends text through the terminal (OSC 52) and to a native tool (pbcopy, wl-copy, xclip, xsel), if any"
)
SETTINGS = f"""## Settings

`vcdebug open --print-config` prints a file with every setting and every binding as they are. The usual place is
`$XDG_CONFIG_HOME/vcdebug/config.yaml` (`~/.config/vcdebug/config.yaml`); `--config FILE` names another one.

```yaml
theme: light
mouse: off
clipboard: osc52
keys:
  over: i,f10
  panel-jobs: J
```

| setting | is one of |
|---|---|
| `theme` | {_THEMES} |
| `mouse` | `on`, `off`; also `--no-mouse` |
| `clipboard` | {_CLIPBOARDS} |
| `keys` | keys by the name of a binding, as in the tables above |

A name that does not exist, a key that does not exist and a key that already means something in the same place are one
line each, with the file and what happens instead; the program starts all the same.

## Where it begins

```console
$ vcdebug open SNAPSHOT --goto N --break 'victim if plugin == "gang"'
$ vcdebug open SNAPSHOT --job NAMESPACE/NAME --panel nodes --filter '!ready'
```

## What is kept

The position, the panel, filters, breakpoints, watches and bookmarks of each snapshot are stored in
`$XDG_STATE_HOME/vcdebug` (`~/.local/state/vcdebug`), one file for each path and content, since the folder of a snapshot
may be read-only or shared. Options of the command line have precedence, `--fresh` ignores the stored session. If the
snapshot at a path has changed, breakpoints and watches are restored, position and bookmarks are not. A damaged file
is renamed, one of a newer version is not changed. Typed lines and recent snapshots are stored there too.

`:save` writes breakpoints, watches and bookmarks next to the snapshot (`SNAPSHOT.vcdebug.json`), to send along with it.
They are set when that snapshot is opened for the first time.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_keys(), *_panels(), FILTERS, *_commands(), *_breakpoints(), SETTINGS])


def _keys() -> Iterator[str]:
    yield "## Keys\n"
    panels = {panel.title for panel in PANELS}
    for scope in key_scopes():
        bindings = [binding for binding in scope.bindings if not binding.action.startswith("panel(")]
        if bindings:
            name = f"panel {scope.name}" if scope.name in panels else scope.name
            yield f"### {name[0].upper()}{name[1:]}\n"
            yield "| key | does | name |\n|---|---|---|"
            for binding in bindings:
                keys = " ".join(f"`{key_name(key)}`" for key in binding_keys(binding, {}) if key_name(key))
                yield f"| {keys} | {_cell(capitalize_first(binding.description))} | `{binding.id}` |"
            yield ""


def _panels() -> Iterator[str]:
    yield "## Panels\n"
    yield "| key | panel | shows | name |\n|---|---|---|---|"
    for panel in PANELS:
        yield f"| `{panel.key}` | {panel.title} | {_cell(panel.help)} | `panel-{panel.command_name}` |"
    yield ""


def _commands() -> Iterator[str]:
    yield "## Commands\n"
    yield "`:` takes them, with `Tab` to complete and `↑` `↓` for earlier lines; `vcdebug script` takes the same.\n"
    yield "`get`, `describe` and `info` are understood before what is shown: `get pods -n ml`, `info breakpoints`."
    yield "The name of a panel opens it.\n"
    yield "| command | also | takes | does |\n|---|---|---|---|"
    for verb in list_verbs():
        also = " ".join(f"`{_cell(name)}`" for name in verb.names[1:])
        takes = f"`{_cell(verb.usage)}`" if verb.usage else ""
        yield f"| `{verb.names[0]}` | {also} | {takes} | {_cell(capitalize_first(verb.help))} |"
    yield ""


def _breakpoints() -> Iterator[str]:
    yield "## Breakpoints\n"
    yield (
        "`break KIND`, words that narrow it, then any of "
        f"{', '.join(f'`{option}`' for option in BREAKPOINT_OPTIONS)}.\n"
    )
    yield "| kind | stops | narrower with |\n|---|---|---|"
    for name, module in BREAKPOINT_KINDS.items():
        kind: type[BreakpointKind] = resolve_reference(module)
        words = ", ".join(f"`{_cell(word)}`" for word in kind.WORDS)
        yield f"| `{name}` | {_cell(kind.HELP)} | {words} |"
    yield ""
    yield f"Conditions and log texts know: {describe_fields()}.\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(PAGE.parents[1]))


if __name__ == "__main__":
    main()
