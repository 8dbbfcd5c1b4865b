"""Commands that open a page, and questions to the whole recording: where would a breakpoint stop, would a job fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import format_count, join_names
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS
from vcdebug.debugger.driver import CommandError, CommandReply, Driver, Verb, parse_number
from vcdebug.model.names import JobId
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name

if TYPE_CHECKING:
    from vcdebug.whatif.fit_probe import AloneFit, FittingCopies

MAX_COPIES: Final = 16
"""Default number of copies that are tried."""
MOST_COPIES: Final = 10_000
"""Maximum number of copies: all of them are objects of one replay, so that more would exhaust the memory."""


def _show_stops(driver: Driver, argument: str) -> CommandReply:
    parse_breakpoint(argument, 0, driver.debugger.recording)
    return CommandReply(show="find", argument=argument)


def _probe_fit(driver: Driver, argument: str) -> CommandReply:
    recording = driver.debugger.recording
    job, limit = _parse_fits(recording, driver.current_state().job, argument)

    def run_probes() -> CommandReply:
        from vcdebug.whatif.fit_probe import probe_alone, probe_copies

        return CommandReply(text=describe_fit(job, probe_alone(recording, job), probe_copies(recording, job, limit)))

    return CommandReply(text=f"replaying with {job} alone, and with copies of it", work=run_probes)


def _parse_fits(recording: Recording, present_job: JobId, argument: str) -> tuple[JobId, int]:
    """Parse `[JOB] [N]` into (job, number of copies); the defaults are the current job and MAX_COPIES."""
    parts = argument.split()
    limit = parse_number(parts.pop(), "number of copies") if parts and parts[-1].isdigit() else MAX_COPIES
    name = " ".join(parts) or present_job
    if not name:
        raise CommandError("no job at this event", hint="fits JOB")
    jobs = [uid for uid in recording.session.jobs if uid == name or bare_name(uid) == name]
    if len(jobs) != 1:
        raise CommandError(f"no job {name!r} in the session", hint="write namespace/name")
    if limit > MOST_COPIES:
        raise CommandError(f"at most {format_count(MOST_COPIES)} copies are tried")
    return jobs[0], max(limit, 1)


def describe_fit(job: JobId, alone: AloneFit, copies: FittingCopies) -> str:
    """Whether the job fits alone and how many copies fit, in one line."""
    if alone.explanation.scheduled:
        first = f"{job} fits on the cluster if it were alone"
    else:
        first = f"{job} does not fit even alone ({alone.placed_count} of {alone.tasks} tasks): {alone.failure_reason}"
    if copies.fitting == copies.tried_count:
        return f"{first}; at least {copies.fitting} more fit now"
    return f"{first}; {copies.fitting or 'no'} more {'fits' if copies.fitting < 2 else 'fit'} now: {copies.stop_reason}"


def _show_log(_: Driver, argument: str) -> CommandReply:
    if argument not in ("", "3", "4", "5"):
        raise CommandError(f"{argument!r} is not a log level", hint="3, 4 or 5")
    return CommandReply(show="log", argument=argument)


def _show_source(_: Driver, __: str) -> CommandReply:
    return CommandReply(show="panel", argument="source")


def _show_help(_: Driver, argument: str) -> CommandReply | str:
    """The usage of one command; without a name, all keys and commands."""
    from vcdebug.debugger.commands import find_verb  # that module reads the groups of commands, of which this is one

    if not argument:
        return CommandReply(show="help")
    verb = find_verb(argument.removeprefix(":"))
    if verb is None:
        raise CommandError(f"no command {argument!r}", "? lists them")
    name, *others = verb.names
    return f":{f'{name} {verb.usage}'.rstrip()}: {verb.help}{f' (also {join_names(others)})' if others else ''}"


VERBS: Final = (
    Verb(("find", "query"), "KIND [if CONDITION]", "List the events of all cycles that match a breakpoint", _show_stops,
         example=f"KIND [if CONDITION]; kinds are {', '.join(BREAKPOINT_KINDS)}"),
    Verb(("fits", "copies"), "[JOB] [N]",
         "Check whether the job fits an empty cluster, and how many more copies fit now", _probe_fit),
    Verb(("filter", "/"), "TEXT", "filter the table that has the focus"),
    Verb(("explain", "e"), "[JOB]", "Explain why JOB is Pending (default: current job, or all)"),
    Verb(("prove",), "[JOB]", "Find fixes for a job by trying changes; Enter applies one"),
    Verb(("ask",), "[QUESTION [SUBJECT]]", "Ask a question (evicted, holders, node, refused, victim, next, when)"),
    Verb(("why",), "[WHAT]", "Show where a value or an event comes from"),
    Verb(("source", "list", "l"), "", "Volcano's function at the event; its text with --source DIR", _show_source),
    Verb(("overview",), "", "Show the overview of the cycle"),
    Verb(("pending", "waiting", "board"), "[CAUSE [KIND]]", "List Pending jobs by cause, or those of a CAUSE",
         view="waiting"),
    Verb(("jobs", "job", "vcjobs", "vcjob", "vj", "podgroups", "podgroup", "pg"), "[NAME]",
         "All jobs at the event, or the page of one"),
    Verb(("pods", "pod", "po"), "[NAME]", "All pods at the event, or the page of one's job"),
    Verb(("nodes", "node", "no"), "[NAME]", "All nodes at the event, or the page of one"),
    Verb(("queues", "queue"), "[NAME]", "All queues at the event, or the page of one"),
    Verb(("metrics",), "", "Volcano's own metrics at the event"),
    Verb(("log",), "[3 | 4 | 5]", "Show the scheduler log at level -v", _show_log),
    Verb(("panel",), "[NAME]", "Show a panel; without NAME, list panels"),
    Verb(("lesson", "learn"), "[NAME]", "Open a lesson, or continue the last one; without any, list them"),
    Verb(("theme",), "NAME",
         "Set the theme, and keep it: dark, light, ansi, ansi-light, or one of Textual, such as nord"),
    Verb(("open", "o"), "[SNAPSHOT]", "open another snapshot"),
    Verb(("help", "h", "?"), "[COMMAND]", "keys and commands, or the usage of one", _show_help),
    Verb(("quit", "q", "exit"), "", "leave"),
)  # fmt: skip
