"""Commands for edits and the branch that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from vcdebug.debugger.driver import CommandError, CommandReply, Driver, Verb, parse_number, run_in_background
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.releases.release import release_names
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.edit import EDIT_FORMS, expand_edits, expand_short_edit, read_edits, write_edits
from vcdebug.whatif import branch

if TYPE_CHECKING:
    from vcdebug.comparison.cycles import CycleComparison

RecordingsChange = Callable[[branch.OpenRecordings], branch.OpenRecordings]
RELEASE_EDIT: Final = "flag:release="


def _add_edit(driver: Driver, argument: str) -> CommandReply:
    texts = list(expand_edits([expand_short_edit(argument)]))
    return apply_edits_together(driver, texts, argument)


def apply_edits_together(driver: Driver, texts: Sequence[str], title: str) -> CommandReply:
    """Apply several edits in one replay; they are undone together."""
    return _apply_change(driver, lambda open_: branch.with_edits(open_, list(texts)), title)


def _set_release(driver: Driver, argument: str) -> CommandReply | str:
    """Switch to another release's rules as one more edit; without a name, say which release is replayed."""
    if not argument:
        release = driver.open_recordings.shown_recording.snapshot.release
        return f"{release.describe_trust()}; releases: {', '.join(release_names())}"
    chosen = resolve_release(argument)
    if not chosen.readable:
        raise CommandError(chosen.problem, f"releases: {', '.join(release_names())}")
    note = f" ({chosen.problem}: {chosen.effect})" if chosen.problem else ""
    return apply_edits_together(driver, [f"{RELEASE_EDIT}{argument}"], f"release {chosen.release.name}{note}")


def _apply_change(driver: Driver, change: RecordingsChange, title: str) -> CommandReply:
    """Replay the branch and compare it; the open recordings stay as they are until both are done."""
    # Kept for `then`: the user can move on while the work runs, and the change applies to what was open at its start.
    before = driver.open_recordings

    def replay_change() -> tuple[branch.OpenRecordings, Seq | None]:
        after = change(before)
        after = branch.with_comparison(after) if after.branch else after
        return after, branch.divergence_seq(before, after) if after.cycle == before.cycle else None

    def show_change(changed: tuple[branch.OpenRecordings, Seq | None]) -> CommandReply:
        after, divergence = changed
        return CommandReply(driver.show_recordings(after, "what-if", divergence), _describe_change(after, title))

    return run_in_background(f"replaying with {title}", replay_change, show_change)


def _describe_change(after: branch.OpenRecordings, title: str) -> str:
    if after.comparison is None:
        return f"{title}: no edits are left, this is the original"
    return f"{title}: {describe_difference(after.comparison)}"


def describe_difference(comparison: CycleComparison) -> str:
    """The result of a comparison in one line."""
    divergence = comparison.divergence and (comparison.divergence.before or comparison.divergence.after)
    first_difference = f"; the first difference is event {divergence.seq}; diff (X) shows all" if divergence else ""
    if comparison.panics[0] != comparison.panics[1]:
        return f"one of the two panics{first_difference}"
    if comparison.has_same_decisions:
        return f"the same decisions{first_difference or ', the same events'}"
    return f"{comparison.change_counts} changed{first_difference}"


def _undo_edit(driver: Driver, _: str) -> CommandReply:
    changes = driver.open_recordings.changes
    return _apply_change(driver, branch.undo_last_change, f"{_texts_of(changes)} undone")


def _redo_edit(driver: Driver, _: str) -> CommandReply:
    undone = driver.open_recordings.undone_changes
    return _apply_change(driver, branch.redo_change, f"{_texts_of(undone)} redone")


def _texts_of(changes: Sequence[branch.EditsTogether]) -> str:
    """The edits of the last change."""
    return ", ".join(edit.text for edit in changes[-1]) if changes else ""


def _force_answer(driver: Driver, argument: str) -> CommandReply | str:
    """Force another answer of the current hook call."""
    # Imported here, since most sessions force no answer.
    from vcdebug.explain.decisions.votes import HOOK_AT
    from vcdebug.framework.forced_answers import choice_text

    open_, seq = driver.open_recordings, driver.debugger.seq
    event = driver.debugger.current_event()
    if not isinstance(event, HookEvent):
        raise CommandError(f"event {seq} is not a plugin call", "only a plugin's answer can be forced")
    words = choice_text(HOOK_AT[event.point].answer_form)
    if not words:
        raise CommandError(f"{event.plugin} is only notified of {event.point}", "no answer to force")
    if not argument:
        return f"{event.point} of {event.plugin} can be made to say: {words}"
    if open_.edits and open_.side == branch.ORIGINAL:
        raise CommandError("answers are forced in the branch", "x shows it")
    return _add_edit(driver, forced_edit(seq, event, argument))


def forced_edit(seq: Seq, event: HookEvent, value: str) -> str:
    """The edit that forces the answer to a call, with a check that it is this call."""
    # A dot separates the parts of the path.
    plugin = f"[{event.plugin}]" if "." in event.plugin else event.plugin
    return f"answer:{seq}.{event.point}.{plugin}={value}"


def _manage_edits(driver: Driver, argument: str) -> CommandReply | str:
    word, _, path = argument.partition(" ")
    path = path.strip()
    if not argument:
        return CommandReply(show="edits")
    if word == "clear" and not path:
        return _apply_change(driver, branch.undo_all_edits, "all edits undone")
    if word not in ("save", "load") or not path:
        raise CommandError(f"edits cannot {argument!r}", "edits, edits save FILE, edits load FILE, edits clear")
    if word == "load":
        return apply_edits_together(driver, read_edits(path), f"the edits of {path}")
    open_ = driver.open_recordings
    if not open_.edits:
        raise CommandError("there are no edits to save")
    write_edits(path, open_.edit_texts, open_.original[0].snapshot.name or "a snapshot")
    driver.workbench.saved = open_.edit_texts
    return f"saved: vcdebug run SNAPSHOT --set @{path} makes the same edits"


def _side_command(side: branch.RecordingSide) -> Callable[[Driver, str], CommandReply | str]:
    def show_side(driver: Driver, argument: str) -> CommandReply | str:
        return _show_side(driver, side, parse_number(argument, "event number") if argument else None)

    return show_side


def _show_side(driver: Driver, side: branch.RecordingSide, seq: Seq | None = None) -> CommandReply | str:
    """Show the other side (original or branch) at the given event, the first difference, or the same event."""
    before = driver.open_recordings
    cycle = min(before.cycle, len(before.cycles_of(side)) or 1)
    after = before.show_cycle(side, cycle)
    if seq is not None:
        return CommandReply(driver.goto_in(after, seq))
    if cycle != before.cycle:
        text = f"the {side} has no cycle {before.cycle}: this is its cycle {cycle}; advance runs the next one"
        return CommandReply(driver.show_recordings(after, f"cycle {cycle}"), text)
    if before.side == side:
        return f"this is the {side}"
    if before.comparison is not None:
        return CommandReply(driver.show_recordings(after, side, branch.divergence_seq(before, after)))

    def show_compared(compared: branch.OpenRecordings) -> CommandReply:
        return CommandReply(driver.show_recordings(compared, side, branch.divergence_seq(before, compared)))

    return run_in_background("comparing", lambda: branch.with_comparison(after), show_compared)


def _show_other_side(driver: Driver, _: str) -> CommandReply | str:
    return _show_side(driver, driver.open_recordings.other_side)


def _show_diff(driver: Driver, argument: str) -> CommandReply:
    if argument:
        return _show_moments(driver, argument)
    before = driver.open_recordings
    if before.comparison is not None:
        return CommandReply(show="diff")
    # One side may have more cycles than the other: only cycles that both sides have can be compared.
    cycle = min(before.cycle, len(before.original), len(before.cycles_of(branch.BRANCH)) or before.cycle)
    before, note = (before, "") if cycle == before.cycle else (before.show_cycle(before.side, cycle), f"cycle {cycle}")

    def show_diff(after: branch.OpenRecordings) -> CommandReply:
        return CommandReply(driver.show_recordings(after, note or "what-if"), show="diff")

    return run_in_background("comparing", lambda: branch.with_comparison(before), show_diff)


def _show_moments(driver: Driver, argument: str) -> CommandReply:
    """Show the changes between two events of the shown recording."""
    words, last = argument.split(), driver.debugger.last_seq
    seqs = [parse_number(word, "event number") for word in words]
    if not 1 <= len(seqs) <= 2 or not all(1 <= seq <= last for seq in seqs):
        raise CommandError(
            f"{argument!r} is neither an event nor two", f"events are 1 to {last}; one is compared with this one"
        )
    return CommandReply(show="diff", argument=" ".join(map(str, [*seqs, driver.debugger.seq][:2])))


VERBS: Final = (
    Verb(("set",), "EDIT", "What-if: change an object, the configuration or a random choice, and replay", _add_edit,
         example=f"set {EDIT_FORMS}"),
    Verb(("release",), "[VERSION]", "What-if: replay with another Volcano release, for example v1.14.4", _set_release),
    Verb(("force",), "ANSWER", "what if: the plugin answers yes, no, allow POD ... at this event", _force_answer),
    Verb(("undo", "u"), "", "Undo the last edit", _undo_edit),
    Verb(("redo",), "", "Redo", _redo_edit),
    Verb(("edits",), "[save FILE | load FILE | clear]", "List, save, load or clear edits", _manage_edits),
    Verb(("branch",), "[N]", "Show the edited cycle (branch)", _side_command(branch.BRANCH)),
    Verb(("original",), "[N]", "show the recording without edits", _side_command(branch.ORIGINAL)),
    Verb(("other", "x"), "", "from the original to the branch and back", _show_other_side),
    Verb(("diff",), "[N [N]]", "Compare original and branch; or event N with this one, or with another", _show_diff),
)  # fmt: skip
