"""Commands that move the cursor."""

from collections.abc import Callable
from functools import partial
from typing import Final

from vcdebug.debugger.driver import CommandError, CommandReply, Driver, DriverStep, Verb, parse_number
from vcdebug.debugger.figures import KIND_ALIASES, PLUGIN, find_object_name


def _step_command(verb: DriverStep, *, back: bool = False) -> Callable[[Driver, str], CommandReply]:
    return partial(_take_steps, verb, back)


def _take_steps(verb: DriverStep, back: bool, driver: Driver, count: str) -> CommandReply:
    """Take a step as often as `count` says, at most up to where it no longer moves."""
    state = driver.take_step(verb, back=back)
    for _ in range(1, parse_number(count, "number of steps") if count else 1):
        before = state
        state = driver.take_step(verb, back=back)
        if state.recording is before.recording and (state.seq, state.inside) == (before.seq, before.inside):
            break
    return CommandReply(state)


def _run_to_breakpoint(driver: Driver, _: str) -> CommandReply:
    """Go to the first breakpoint from the beginning of the cycle; without any, to the beginning."""
    state = driver.goto_event(driver.debugger.first_seq)
    return CommandReply(driver.take_step("continue", back=False) if len(driver.debugger.breakpoints) else state)


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


def _goto_about(back: bool, driver: Driver, argument: str) -> CommandReply:
    kind, _, name = argument.partition(" ")
    kind = KIND_ALIASES.get(kind, kind)
    if kind not in ("job", "task", "node", "queue", "plugin") or not name:
        raise CommandError(f"no kind and name in {argument!r}", "job, pod, node, queue or plugin, and its name")
    name = name.strip()
    if kind != PLUGIN:
        name = find_object_name(driver.debugger.recording, kind, name)
    elif name not in (plugins := driver.debugger.recording.conf.plugin_names()):
        raise CommandError(f"no plugin {name!r}", f"available: {', '.join(plugins)}")
    return CommandReply(driver.next_about(kind, name, back=back))


VERBS: Final = (
    Verb(("next", "n", "over"), "[N]", "next event or span on this level", _step_command("over")),
    Verb(("step", "s", "into", "stepi"), "[N]", "next event, however deep", _step_command("into")),
    # No longer name, such as `step-inside`: scripts may write `ste` for `step`.
    Verb(("si",), "[N]", "next event, comparison of a pop or part of a score, as the key s", _step_command("inside")),
    Verb(("Si", "rsi"), "[N]", "previous event, comparison or part of a score", _step_command("inside", back=True)),
    Verb(("out", "f", "finish"), "[N]", "what follows the enclosing span", _step_command("out")),
    Verb(("continue", "c"), "[N]", "to the next breakpoint", _step_command("continue")),
    Verb(("run", "r", "start"), "", "from the beginning of the cycle to the first breakpoint", _run_to_breakpoint),
    Verb(("back-next", "N", "back-over", "reverse-next", "rn"), "[N]", "previous event or span on this level",
         _step_command("over", back=True)),
    Verb(("back-step", "S", "back", "back-into", "reverse-step", "rs"), "[N]", "previous event",
         _step_command("into", back=True)),
    Verb(("back-out", "F", "up", "reverse-finish"), "[N]", "beginning of the enclosing span",
         _step_command("out", back=True)),
    Verb(("down",), "", "undoes the last way up, else next event", lambda driver, _: CommandReply(driver.step_down())),
    Verb(("back-continue", "C", "reverse-continue", "rc"), "[N]", "to the previous breakpoint",
         _step_command("continue", back=True)),
    Verb(("goto", "g", "until", "jump"), "N | +N | -N | CYCLE:N", "to an event by number; 0 is the overview",
         goto_event),
    Verb(("last", "-"), "", "where the last jump began",
         lambda driver, _: CommandReply(driver.last_position())),
    Verb(("about", "]"), "job|pod|node|queue|plugin NAME", "next event about it", partial(_goto_about, False)),
    Verb(("back-about", "["), "job|pod|node|queue|plugin NAME", "previous event about it", partial(_goto_about, True)),
    Verb(("where", "bt", "backtrace", "frame"), "",
         "the spans around the event, and upstream's functions, innermost first", _show_place),
)  # fmt: skip
