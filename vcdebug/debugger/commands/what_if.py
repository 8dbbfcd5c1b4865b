"""Commands about edits and the branch that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import plural
from vcdebug.debugger.commands.base import CommandError, Reply, Verb, number
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.recordings import BRANCH, ORIGINAL, Recordings, Side
from vcdebug.debugger.what_if import compared, divergence_seq, with_edits, with_undone, without_any, without_last
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.releases.naming import named_release
from vcdebug.releases.release import names
from vcdebug.snapshot.edit import FORMS, edit_of_words
from vcdebug.snapshot.edit_file import expanded, read_edits, write_edits

if TYPE_CHECKING:
    from vcdebug.compare.cycles import Comparison

Change = Callable[[Recordings], Recordings]
RELEASE_EDIT: Final = "flag:release="


def _set(driver: Driver, argument: str) -> Reply:
    if not argument:
        raise CommandError("say what to change", f"set {FORMS}")
    texts = list(expanded([edit_of_words(argument)]))
    return _changed(driver, lambda open_: with_edits(open_, texts), argument)


def carry_out(driver: Driver, texts: Sequence[str], what: str) -> Reply:
    """Several edits at once, as one step that can be undone edit by edit."""
    return _changed(driver, lambda open_: with_edits(open_, list(texts)), what)


def _release(driver: Driver, argument: str) -> Reply:
    """Another release's rules, as one more edit; without a name, whose rules are shown."""
    if not argument:
        text = f"replayed by {driver.recordings.shown.snapshot.release.rules()}; there are {', '.join(names())}"
        return Reply(driver.moment(), text)
    named = named_release(argument)
    if not named.readable:
        raise CommandError(named.what, f"there are {', '.join(names())}")
    said = f" ({named.what}: {named.effect})" if named.what else ""
    edit = f"{RELEASE_EDIT}{argument}"
    return _changed(driver, lambda open_: with_edits(open_, [edit]), f"release {named.release.name}{said}")


def _changed(driver: Driver, change: Change, what: str) -> Reply:
    """Run the branch and look for what has changed; nothing is touched until both are done."""
    before = driver.recordings

    def work() -> Reply:
        after = change(before)
        after = compared(after) if after.branch else after
        divergence = divergence_seq(before, after) if after.cycle == before.cycle else None
        return Reply(then=lambda: Reply(driver.take(after, "what-if", divergence), _result(after, what)))

    return Reply(text=f"replaying with {what}", work=work)


def _result(after: Recordings, what: str) -> str:
    if after.found is None:
        return f"{what}: no edits are left, this is the original"
    return f"{what}: {difference_words(after.found)}"


def difference_words(found: Comparison) -> str:
    """What a comparison came to, in one line."""
    divergence = found.divergence and (found.divergence.before or found.divergence.after)
    at = f"; the first difference is event {divergence.seq}" if divergence else ""
    if found.panics[0] != found.panics[1]:
        return f"one of the two panics{at}"
    if found.same:
        return f"the same decisions{at or ', the same events'}"
    counts = ((found.jobs, "job"), (found.tasks, "pod"), (found.queues, "queue"))
    parts = [plural(len(rows), noun) for rows, noun in counts if rows]
    return f"{', '.join(parts)} changed{at}"


def _undo(driver: Driver, _: str) -> Reply:
    text = driver.recordings.texts[-1:] or ("",)
    return _changed(driver, without_last, f"{text[0]} undone")


def _redo(driver: Driver, _: str) -> Reply:
    undone = driver.recordings.undone
    return _changed(driver, with_undone, f"{undone[-1].text if undone else ''} redone")


def _force(driver: Driver, argument: str) -> Reply:
    """The answer of the present hook call."""
    from vcdebug.explain.votes import HOOK_AT
    from vcdebug.framework.forced_values import choices

    open_, seq = driver.recordings, driver.debugger.seq
    event = driver.debugger.event()
    if not isinstance(event, HookEvent):
        raise CommandError(f"event {seq} is no hook call", "only a plugin's answer can be forced")
    words = choices(HOOK_AT[event.point].gives)
    if not words:
        raise CommandError(f"{event.plugin} is only told about {event.point}", "there is no answer to force")
    if not argument:
        return Reply(driver.moment(), f"{event.point} of {event.plugin} can be made to say: {words}")
    if open_.edits and open_.side == ORIGINAL:
        raise CommandError("answers are forced in the branch", "x shows it")
    return _set(driver, forced_edit(seq, event, argument))


def forced_edit(seq: Seq, event: HookEvent, value: str) -> str:
    """The edit that forces the answer to a call, with a check that it is this call."""
    plugin = f"[{event.plugin}]" if "." in event.plugin else event.plugin
    return f"answer:{seq}.{event.point}.{plugin}={value}"


def _edits(driver: Driver, argument: str) -> Reply:
    word, _, path = argument.partition(" ")
    path = path.strip()
    if not argument:
        return Reply(show="edits")
    if word == "clear" and not path:
        return _changed(driver, without_any, "all edits undone")
    if word not in ("save", "load") or not path:
        raise CommandError(f"edits cannot {argument!r}", "edits, edits save FILE, edits load FILE, edits clear")
    if word == "load":
        texts = read_edits(path)
        return _changed(driver, lambda open_: with_edits(open_, texts), f"the edits of {path}")
    return _saved(driver, path)


def _saved(driver: Driver, path: str) -> Reply:
    open_ = driver.recordings
    if not open_.edits:
        raise CommandError("there are no edits to save")
    write_edits(path, open_.texts, open_.original[0].snapshot.name or "a snapshot")
    driver.workbench.saved = open_.texts
    return Reply(driver.moment(), f"saved: vcdebug run SNAPSHOT --set @{path} makes the same edits")


def _side(side: Side) -> Callable[[Driver, str], Reply]:
    def run(driver: Driver, argument: str) -> Reply:
        return _show_side(driver, side, number(argument, "event number") if argument else None)

    return run


def _show_side(driver: Driver, side: Side, seq: Seq | None) -> Reply:
    """The other side at the same event, the first difference, or the event that was asked for."""
    before = driver.recordings
    after = before.at(side, before.cycle)
    if seq is not None:
        return Reply(driver.goto_in(after, seq))
    if before.side == side:
        return Reply(driver.moment(), f"this is the {side}")
    if before.found is not None:
        return Reply(driver.take(after, side, divergence_seq(before, after)))

    def work() -> Reply:
        known = compared(after)
        divergence = divergence_seq(before, known)
        return Reply(then=lambda: Reply(driver.take(known, side, divergence)))

    return Reply(text="comparing", work=work)


def _other(driver: Driver, _: str) -> Reply:
    return _show_side(driver, driver.recordings.other, None)


def _diff(driver: Driver, _: str) -> Reply:
    """Both sides of the shown cycle."""
    before = driver.recordings
    if before.found is not None:
        return Reply(show="diff")

    def work() -> Reply:
        known = compared(before)
        return Reply(then=lambda: Reply(driver.take(known, "what-if"), show="diff"))

    return Reply(text="comparing", work=work)


VERBS: Final = (
    Verb(("set",), "EDIT", "what if: change an object, the configuration or chance, and run the cycle again", _set),
    Verb(("release",), "[VERSION]", "what if: another release of Volcano decides, such as v1.14.4", _release),
    Verb(("force",), "ANSWER", "what if: the plugin answers yes, no, offer POD ... at this event", _force),
    Verb(("undo", "u"), "", "take the last edit back", _undo),
    Verb(("redo",), "", "make the edit again that was undone last", _redo),
    Verb(("edits",), "[save FILE | load FILE | clear]", "the edits, kept in a file or taken from one", _edits),
    Verb(("branch",), "[N]", "show what the edits make of the cycle", _side(BRANCH)),
    Verb(("original",), "[N]", "show the recording without edits", _side(ORIGINAL)),
    Verb(("other", "x"), "", "from the original to the branch and back", _other),
    Verb(("diff",), "", "original and branch side by side: what changed, and where they part", _diff),
)
