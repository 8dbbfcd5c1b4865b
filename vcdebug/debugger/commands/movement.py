"""Commands that move the cursor."""

from collections.abc import Callable
from typing import Final

from vcdebug.debugger.driver import CommandError, CommandReply, Driver, DriverStep, Verb, parse_number


def _step_command(verb: DriverStep, *, back: bool = False) -> Callable[[Driver, str], CommandReply]:
    def run_step(driver: Driver, _: str) -> CommandReply:
        return CommandReply(driver.take_step(verb, back=back))

    return run_step


def goto_event(driver: Driver, argument: str) -> CommandReply:
    """Go to event N, N events forward or back (+N, -N), or event N of another cycle (CYCLE:N)."""
    text = argument.replace(" ", "")
    cycle, colon, seq_text = text.partition(":")
    if colon and cycle.isdigit():
        return _goto_in_cycle(driver, int(cycle), seq_text or str(driver.debugger.first_seq))
    first, last = driver.debugger.first_seq, driver.debugger.last_seq
    if not text.removeprefix("+").removeprefix("-").isdigit():
        raise CommandError(f"{argument!r} is not an event number", hint=f"events are {first} to {last}")
    target = driver.debugger.position.seq + int(text) if text[0] in "+-" else int(text)
    if not first <= target <= last:
        raise CommandError(f"event {target} does not exist", hint=f"events are {first} to {last}")
    return CommandReply(driver.goto_event(target))


def _goto_in_cycle(driver: Driver, cycle: int, argument: str) -> CommandReply:
    """Go to an event of another cycle, on the shown side (original or branch)."""
    open_ = driver.open_recordings
    after = open_.show_cycle(open_.side, cycle)
    first, last = driver.debugger.first_seq, len(after.shown_recording)
    seq = parse_number(argument, "event number")
    if not first <= seq <= last:
        raise CommandError(f"event {seq} does not exist in cycle {cycle}", hint=f"events are {first} to {last}")
    return CommandReply(driver.goto_in(after, seq))


def _show_place(driver: Driver, _: str) -> CommandReply:
    from vcdebug.recording.call_stack import frames_at  # a start needs no functions of upstream

    debugger = driver.debugger
    path = " > ".join(span.name for span in debugger.span_path()[1:])
    frames = reversed(frames_at(debugger.recording, debugger.seq))
    stack = [f"  {number}  {at.function.short_name}  {at.function.file_line}" for number, at in enumerate(frames)]
    release = debugger.recording.session.release.display_name()
    place = f"event {debugger.position.seq} of {debugger.last_seq}: {path or 'cycle'} (functions of {release})"
    return CommandReply(driver.current_state(), "\n".join([place, *stack]))


def _about_command(*, back: bool) -> Callable[[Driver, str], CommandReply]:
    def find_next(driver: Driver, argument: str) -> CommandReply:
        kind, _, name = argument.partition(" ")
        if kind not in ("job", "task", "node", "queue", "plugin") or not name:
            raise CommandError("say what about", hint="job NAME, task NAME, node NAME, queue NAME or plugin NAME")
        return CommandReply(driver.next_about(kind, name.strip(), back=back))

    return find_next


VERBS: Final = (
    Verb(("next", "n", "over"), "", "next event or span on this level", _step_command("over")),
    Verb(("step", "s", "into"), "", "next event, however deep", _step_command("into")),
    # No longer name, such as `step-inside`: scripts may write `ste` for `step`.
    Verb(("si",), "", "next event, comparison of a pop or part of a score, as the key s", _step_command("inside")),
    Verb(("Si", "rsi"), "", "previous event, comparison or part of a score", _step_command("inside", back=True)),
    Verb(("out", "f", "finish"), "", "what follows the enclosing span", _step_command("out")),
    Verb(("continue", "c"), "", "to the next breakpoint", _step_command("continue")),
    Verb(("back-next", "N", "back-over"), "", "previous event or span on this level", _step_command("over", back=True)),
    Verb(("back-step", "S", "back", "back-into"), "", "previous event", _step_command("into", back=True)),
    Verb(("back-out", "F"), "", "beginning of the enclosing span", _step_command("out", back=True)),
    Verb(("back-continue", "C", "reverse-continue"), "", "to the previous breakpoint",
         _step_command("continue", back=True)),
    Verb(("goto", "g"), "N | +N | -N | CYCLE:N", "to an event by number; 0 is the overview", goto_event),
    Verb(("last", "-"), "", "where the last jump began",
         lambda driver, _: CommandReply(driver.last_position())),
    Verb(("about", "]"), "job|task|node|queue|plugin NAME", "next event about it", _about_command(back=False)),
    Verb(("back-about", "["), "job|task|node|queue|plugin NAME", "previous event about it", _about_command(back=True)),
    Verb(("where", "bt"), "", "the spans around the event, and upstream's functions, innermost first", _show_place),
)  # fmt: skip
