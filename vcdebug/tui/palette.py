"""The palette: commands, panels, keys, jobs, pods, nodes, queues and causes, found by names and by words about them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import ClassVar, Final

from msgspec import Struct
from textual import events, on
from textual.app import ComposeResult
from textual.binding import ActiveBinding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from vcdebug.amount_text import capitalize_first
from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS, find_kind
from vcdebug.debugger.breakpoints.function_kind import recorded_functions
from vcdebug.debugger.commands import list_verbs
from vcdebug.debugger.figures import RESOURCE_KINDS, object_names
from vcdebug.explain.pending.survey import list_known_causes
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.manifest import bare_name
from vcdebug.tui.config import THEME_NAMES
from vcdebug.tui.key_names import key_name, keys_by_binding
from vcdebug.tui.main.screen import MainScreen
from vcdebug.tui.screens.pages import OverlayScreen
from vcdebug.tui.widgets.prompt import SettledInput, settled_size
from vcdebug.tui.widgets.strokes import LineBar
from vcdebug.views.panels import PANELS
from vcdebug.whatif.forecast import QUESTIONS

MAX_HITS: Final = 100
LINES_PER_HIT: Final = 2
MAX_LIST_SHARE: Final = 70
"""The height of the list, at most, in percent of the terminal's."""
SYNONYMS: Final = """
funnel: victim victims candidates preemption reclaim; evictions: evict preempted killed;
inside: score scores predicate; break: breakpoint stop; breaks: breakpoint stop;
diff: compare comparison difference; explain: why pending unschedulable;
pending: why stuck unschedulable not scheduled board; prove: fix remedy proposal;
nodes: idle free capacity allocatable; queues: share deserved quota overused capability; order: priority turn;
ask: filter predicate taint affinity why; jobs: minmember gang ready; what-if: edit minmember change simulate;
effects: bound scheduled placed; hypernodes: topology rack; report: export html markdown;
theme: color colour dark light; release: version upgrade; next-cycle: advance; filter: search; undo: revert;
zoom: fullscreen maximize; quit: exit close leave"""
"""Name of a command, panel or key → further words by which the palette finds it."""
_SYNONYMS_OF: Final = dict(entry.split(": ") for entry in SYNONYMS.strip().replace("\n", " ").split("; "))
OBJECT_COMMANDS: Final = {
    "jobs": ("explain", "why it is Pending, or what it got"),
    "pods": ("explain", "why it is Pending, or what it got"),
    "nodes": ("nodes", "its page"),
    "queues": ("queues", "its page"),
}
"""Kind of object -> the command that opens one, and what that shows."""


class PaletteEntry(Struct, frozen=True):
    """One line of the palette."""

    kind: str
    name: str
    help: str
    run_entry: Callable[[], object]
    key: str = ""
    search_words: str = ""
    """Further words by which the entry is found."""

    def rank_words(self, words: Sequence[str], letters: re.Pattern[str]) -> int | None:
        """Rank of the entry for the typed words, 0 is best; None if neither words nor letters in order match."""
        name, name_and_words = self.name.casefold(), f" {self.name} {self.search_words}".casefold()
        if all(f" {word}" in name_and_words for word in words):
            return 0 if name.startswith(words[0]) else 1
        if all(word in name_and_words for word in words):
            return 2
        text = f"{name_and_words} {self.help} {self.kind}".casefold()
        return 3 if all(word in text for word in words) else 4 if letters.search(name) else None


class HitList(ScrollView, can_focus=False):
    """The entries that are found, two lines each; only lines in sight are made."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"hits--cursor"}
    DEFAULT_CSS = f"""
    HitList {{
        {LineBar.CSS} height: auto; max-height: {MAX_LIST_SHARE}vh; border-top: blank; border-bottom: hkey black;
    }}
    HitList > .hits--cursor {{
        color: $foreground; background: $block-cursor-blurred-background; text-style: $block-cursor-blurred-text-style;
    }}
    """

    virtual_size = settled_size()
    cursor: reactive[int] = reactive(0)

    hits: Sequence[PaletteEntry] = ()
    _words: Sequence[str] = ()

    def __init__(self) -> None:
        super().__init__()
        self.bar = LineBar(self, width=2)

    @property
    def allow_vertical_scroll(self) -> bool:
        """Textual asks for a scroll bar of its own."""
        return self.max_scroll_y > 0

    async def on_event(self, event: events.Event) -> None:
        if not self.bar.takes_event(event):
            await super().on_event(event)

    def show_hits(self, hits: Sequence[PaletteEntry], words: Sequence[str]) -> None:
        """Show other entries, with the words underlined that found them."""
        self.hits, self._words, self.cursor = hits, words, 0
        self.border_subtitle = "" if hits else "nothing found"
        self.bar.set_content_size(Size(0, LINES_PER_HIT * len(hits)))
        self.scroll_to(0, 0, animate=False)

    def move_cursor(self, by: int) -> None:
        self.cursor = min(max(self.cursor + by, 0), max(len(self.hits) - 1, 0))
        self.scroll_to_region(Region(0, LINES_PER_HIT * self.cursor, 1, LINES_PER_HIT), animate=False)

    async def on_click(self, event: events.Click) -> None:
        self.cursor = (event.y - self.gutter.top + self.scroll_offset.y) // LINES_PER_HIT
        await self.screen.run_action("run")

    def render_line(self, y: int) -> Strip:
        number, line = divmod(y + self.scroll_offset.y, LINES_PER_HIT)
        bar = self.bar.cells()[y : y + 1]
        width = self.bar.text_width if bar else self.size.width
        if number >= len(self.hits):
            return Strip.blank(width)
        style = self.get_visual_style("hits--cursor") if number == self.cursor else self.visual_style
        content = format_entry(self.hits[number], self._words).split("\n")[line].pad_left(2)
        segments = content.truncate(width - 1, ellipsis=True).render_segments(style)
        return Strip([*Strip(segments).crop_extend(0, width, style.rich_style), *bar])


class PaletteScreen(OverlayScreen[None]):
    """Finds entries while the user types, and runs the chosen one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss"),
        ("down", "move(1)"),
        ("up", "move(-1)"),
        ("pagedown", "page(1)"),
        ("pageup", "page(-1)"),
    ]
    DEFAULT_CSS = """
    PaletteScreen { background: $background; }
    PaletteScreen > Input, PaletteScreen > Input:focus {
        margin-top: 3; height: 4; padding: 1 2; border: none; border-top: hkey black 50%; background-tint: 0%;
    }
    PaletteScreen > Input, HitList { background: $surface; &:dark { background: $panel-darken-1; } }
    """

    def __init__(self, main: MainScreen) -> None:
        super().__init__()
        self._main_screen = main
        self._entries = list(described_entries(main))
        """Described once, not at every letter."""

    def compose(self) -> ComposeResult:
        yield SettledInput(placeholder="a name, or a word such as victim")
        yield HitList()

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input))
        self.query_one(HitList).show_hits(self._entries[:MAX_HITS], ())
        # A later letter finds the names of all objects read.
        self.call_after_refresh(find_entries, self._main_screen, (), ("/",))

    @on(Input.Changed)
    def find_hits(self, event: Input.Changed) -> None:
        """Show the best entries; before anything is typed panels and commands."""
        words = event.value.casefold().split()
        found = find_entries(self._main_screen, self._entries, words) if words else self._entries[:MAX_HITS]
        self.query_one(HitList).show_hits(found, words)

    def action_move(self, by: int) -> None:
        self.query_one(HitList).move_cursor(by)

    def action_page(self, by: int) -> None:
        self.action_move(by * self.query_one(HitList).size.height // LINES_PER_HIT)

    @on(Input.Submitted)
    def action_run(self) -> None:
        """Close the palette and run the entry under the cursor."""
        shown = self.query_one(HitList)
        if shown.cursor < len(shown.hits):
            self.dismiss()
            self.app.call_later(shown.hits[shown.cursor].run_entry)


def format_entry(entry: PaletteEntry, words: Sequence[str]) -> Content:
    """Name and key, and below them kind and description; the words that match are underlined."""
    key = f"   key {entry.key}" if entry.key else ""
    content = Content.assemble(
        (entry.name, "bold"),
        (key, "$text-accent"),
        (f"\n{entry.kind}: {capitalize_first(entry.help)}", "not bold $foreground 70%"),
    )
    spans = (match.span() for word in words for match in re.finditer(re.escape(word), content.plain.casefold()))
    for start, end in spans:
        content = content.stylize("underline", start, end)
    return content


def find_entries(main: MainScreen, described: Iterable[PaletteEntry], words: Sequence[str]) -> list[PaletteEntry]:
    """The best entries for the typed words in lower case, at most MAX_HITS."""
    if not words:
        return []
    letters = re.compile(".*?".join(map(re.escape, "".join(words))))
    ranked = [(rank, entry) for entry in described if (rank := entry.rank_words(words, letters)) is not None]
    if main.moment is not None:
        ranked += _rank_objects(main, main.moment.recording, words)
    return [entry for _, entry in sorted(ranked, key=lambda pair: pair[0])[:MAX_HITS]]


def _rank_objects(main: MainScreen, recording: Recording, words: Sequence[str]) -> Iterator[tuple[int, PaletteEntry]]:
    """Jobs, pods, nodes and queues whose names contain every word; a name that is or begins with the word first."""
    start = words[0]
    for plural, (command, description) in OBJECT_COMMANDS.items():
        found = (_find_names(recording, RESOURCE_KINDS[plural], words, sign + start) for sign in ("\n", "/", ""))
        for name in dict.fromkeys(chain.from_iterable(islice(names, MAX_HITS) for names in found)):
            base_name = bare_name(name.casefold())
            rank = 0 if start in (base_name, name.casefold()) else 1 if base_name.startswith(start) else 2
            run = partial(main.run_command, f"{command} {name}")
            yield rank, PaletteEntry(plural.removesuffix("s"), name, description, run)


@per_recording()
def _joined_names(recording: Recording, kind: str) -> tuple[str, str]:
    """The names of all objects of a kind, each in a line of its own, and the same text for a search without case."""
    text = "\n".join(("", *object_names(recording, kind), ""))
    lowered = text.lower()
    return text, lowered if len(lowered) == len(text) else text


def _find_names(recording: Recording, kind: str, words: Sequence[str], sought: str) -> Iterator[str]:
    """Names with every word and the sought text; one search through all of them, since a letter may match 200,000."""
    text, lowered = _joined_names(recording, kind)
    place = lowered.find(sought)
    while place >= 0:
        begin = lowered.rfind("\n", 0, place + 1) + 1
        end = lowered.index("\n", begin)
        if all(word in lowered[begin:end] for word in words):
            yield text[begin:end]
        place = lowered.find(sought, end)


def described_entries(main: MainScreen) -> Iterator[PaletteEntry]:
    """Every entry with a description, at the moment that the screen shows."""
    keys = {
        name: " ".join(filter(None, map(key_name, active_keys)))
        for name, active_keys in keys_by_binding(main.active_bindings).items()
    }
    for panel in PANELS:
        name, show = panel.command_name, partial(main.show_panel, panel.command_name)
        key, words = keys.get(f"panel-{name}", ""), _SYNONYMS_OF.get(name, "")
        yield PaletteEntry("panel", panel.title, panel.help, show, key, words)
    for verb in list_verbs():
        key = next((keys[name] for name in verb.names if name in keys), "")
        words = " ".join([*verb.names[1:], *filter(None, map(_SYNONYMS_OF.get, verb.names))])
        usage = f"{verb.names[0]} {verb.usage}".rstrip()
        # One that needs words opens the command line with its name.
        needs_words = verb.usage and not verb.usage.startswith("[")
        line = f"{verb.names[0]} " if needs_words else verb.names[0]
        run = partial(main.type_command if needs_words else main.run_command, line)
        yield PaletteEntry("command", usage, verb.help, run, key, words)
    yield from _key_entries(main.active_bindings, keys)
    for kind in BREAKPOINT_KINDS:
        line = f"break {kind}"
        yield PaletteEntry("breakpoint", line, find_kind(kind).HELP, partial(main.type_command, f"{line} "))
    functions = recorded_functions(main.moment.recording) if main.moment is not None else ()
    for kind, line, description in (
        *(("question", f"ask {question.name}", f"{question.question_text}?") for question in QUESTIONS),
        *(("theme", f"theme {name}", "colours of the screen") for name in THEME_NAMES),
        *(("function", f"break {name}", "stop when it is called") for name in functions),
    ):
        yield PaletteEntry(kind, line, description, partial(main.run_command, line))
    if main.moment is not None:
        yield from _recording_entries(main, main.moment.recording)


def _key_entries(active: Mapping[str, ActiveBinding], keys: Mapping[str, str]) -> Iterator[PaletteEntry]:
    """Entries for keys of neither panels nor commands; each runs in the widget of its binding."""
    verb_names = {name for verb in list_verbs() for name in verb.names}
    bindings = {entry.binding.id: entry for entry in active.values() if entry.binding.id in keys}
    for name, (node, binding, _, _) in bindings.items():
        if name is not None and name not in verb_names and not name.startswith("panel-"):
            run, shown_name = (
                partial(node.app.run_action, binding.action, node),
                name.rpartition(".")[2].replace("-", " "),
            )
            yield PaletteEntry("key", shown_name, binding.description, run, keys[name], _SYNONYMS_OF.get(name, ""))


def _recording_entries(main: MainScreen, recording: Recording) -> Iterator[PaletteEntry]:
    """The plugins of the configuration, and the causes of Pending jobs."""
    for plugin in recording.conf.plugin_names():
        run = partial(main.run_command, f"about plugin {plugin}")
        yield PaletteEntry("plugin", plugin, "its next answer", run, "", "votes veto")
    for cause in list_known_causes(recording):
        run = partial(main.run_command, f"pending {cause}")
        yield PaletteEntry("cause", cause, "the jobs that are Pending for it", run, "", cause.replace("-", " "))
