"""Runs the commands of one input in this process, under limits, and reports their faults."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import traceback
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import vcdebug.explain.pending.survey as survey
import vcdebug.whatif.fixes.search as search
import vcdebug.whatif.other_outcomes as other_outcomes
from tests.fuzz.inputs import Command, FuzzInput
from tests.own_faults import OWN_FAULTS
from vcdebug.cli.commands import load_commands
from vcdebug.cli.main import main
from vcdebug.explain.pending.explanation import explain_subject

SECONDS: Final = 10
"""Limit of processor time for one command, in seconds."""
BYTES: Final = 2 << 30
"""Limit of the memory that a command may add to this process, in bytes."""
FEWER_REPLAYS: Final = (
    (search, "MAX_SHORT_TRIALS", 8),
    (search, "MAX_FIRST_TRIALS", 8),
    (other_outcomes, "RUNS_OF_AN_ANSWER", 2),
    (other_outcomes, "FIRST_RUNS", 1),
    (other_outcomes, "NEWEST_PATCHES", other_outcomes.NEWEST_PATCHES[::3]),
)
"""(module, limit, its value here): further replays of an answer run the same code on nearly the same input."""
MAX_WRITTEN: Final = 256 << 20
_ALWAYS_HARMFUL: Final = ("Cc", "Cs", "Zl", "Zp")
_DIRECTIONS: Final = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN")


class Fault(NamedTuple):
    """One fault of a command."""

    kind: str
    place: str
    """Where the fault arose; faults of the same kind and place are the same fault."""
    command: Command
    detail: str


class Outcome(NamedTuple):
    """The result of one command."""

    code: int
    out: str
    err: str
    raised: str
    """The traceback; empty if the command raised no exception."""
    place: str


class TimeIsUp(BaseException):  # a BaseException, so that no command handles it
    """The command has used its processor time."""


def limit_process() -> None:
    """Limit this process permanently, and replace the function that reports an exception in `explain` as an answer."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_WRITTEN, MAX_WRITTEN))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _stop)
    warnings.simplefilter("always", RuntimeWarning)
    survey._explain_or_report = explain_subject
    for module, limit, few in FEWER_REPLAYS:
        setattr(module, limit, few)


def _stop(*_: object) -> None:
    raise TimeIsUp


def load_modules(sound: FuzzInput, folder: Path) -> None:
    """Run the commands of a valid input once, so that the modules they import are loaded before processes fork."""
    here = Path.cwd()
    check_input(sound, folder)
    os.chdir(here)
    gc.freeze()  # a collection in a child process would otherwise copy every page of what was loaded


def check_input(made: FuzzInput, folder: Path) -> list[Fault]:
    """Write the files into an empty folder, run every command there, and return the faults."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in made.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    os.chdir(folder)
    os.environ |= {"XDG_STATE_HOME": str(folder), "XDG_CACHE_HOME": str(folder), "VCDEBUG_CACHE": "off"}
    os.environ["VCDEBUG_TRACEBACK"] = "1"
    faults: list[Fault] = []
    for command in made.commands:
        faults += [
            Fault(kind, place, command, detail) for kind, place, detail in _check_outcome(command, _run(command))
        ]
        changed = [name for name, data in made.files.items() if not _is_same(folder / name, data)]
        if changed:
            return [*faults, Fault("input changed", command[0], command, ", ".join(changed))]
    return faults


def _is_same(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data


def _run(command: Command) -> Outcome:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    code, raised, place = -1, "", ""
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO())
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS, 1)  # repeats each second in case a library swallows the exception
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(command)
            out.flush()
    except TimeIsUp:
        raised, place = traceback.format_exc(), "above the limit"
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else -1
    except BaseException as error:  # noqa: BLE001  # whatever leaves a command is a fault
        raised, place = traceback.format_exc(), _place_of(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdin = before
    return Outcome(code, _text_of(out), _text_of(err), raised, place)


def _text_of(stream: io.TextIOWrapper) -> str:
    with contextlib.suppress(Exception):
        stream.flush()
    data: bytes = stream.buffer.getvalue()  # type: ignore[attr-defined]  # a BytesIO
    return data.decode("utf-8", "surrogatepass")


def _place_of(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/vcdebug/" in frame.filename]
    last = f"{frames[-1].filename.rpartition('/vcdebug/')[2]}:{frames[-1].name}" if frames else "outside"
    return f"{type(error).__name__} in {last}"


def _check_outcome(command: Command, done: Outcome) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, place, detail) of each fault."""
    if done.raised:
        yield ("time" if done.place == "above the limit" else "traceback"), done.place, done.raised
        return
    if done.code not in documented_codes(command[0]):
        yield "exit code", f"{command[0]} {done.code}", done.err
    if "not enough memory" in done.err:
        yield "memory", command[0], done.err
    said = done.out + done.err
    for sign in (*OWN_FAULTS, "RuntimeWarning"):
        if sign in said:
            yield "said", f"{sign} {_warned_at(said)}", said[:4000]
    # `expect` lists what it could not check on stdout.
    if done.code == 1 and not done.err.strip() and command[0] != "expect":
        yield "silent", command[0], done.out[:1000]
    # A trace is escaped only on a terminal; in a pipe it has the bytes of the file.
    if harmful := find_harmful(done.err if "--trace" in command else said):
        yield "control character", f"{command[0]} {harmful!a}", said[:4000]
    if "--json" in command and done.code != 1:
        try:
            json.loads(done.out)
        except ValueError as error:
            yield "no JSON", command[0], f"{error}\n{done.out[:1000]}"


def _warned_at(said: str) -> str:
    found = re.search(r"vcdebug/(\S+?):\d+: RuntimeWarning", said)
    return found.group(1) if found else ""


def documented_codes(name: str) -> frozenset[int]:
    """The exit codes that a command's help documents."""
    return frozenset(map(int, re.findall(r"(?:status: |, )(\d+) ", load_commands([name])[name].EXITS)))


def find_harmful(text: str) -> str:
    """The first character that a terminal would obey or not show; empty if there is none."""
    if text.isascii() and not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
        return ""
    return next((each for each in text if each not in "\n\t" and _is_harmful(each)), "")


def _is_harmful(character: str) -> bool:
    return (
        unicodedata.category(character) in _ALWAYS_HARMFUL
        or character in "\u200e\u200f\u061c"
        or (unicodedata.bidirectional(character) in _DIRECTIONS and unicodedata.category(character) == "Cf")
    )
