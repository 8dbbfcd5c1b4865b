"""Child processes that run batches of inputs; an input whose process dies or hangs is reported as a fault."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.fuzz.child import Fault, check_input, limit_process
from tests.fuzz.inputs import FuzzInput, make_input

BATCH: Final = 50
"""Number of inputs that one process runs, so that a side effect of one input reaches few others."""
SECONDS: Final = 120
"""Limit of processor time per input: catches C code of a library that goes on after its command was stopped."""
PATIENCE: Final = 3600
"""Wall-clock seconds without a message from a child: catches waits that use no processor time. A busy machine may
take a hundred times the processor time of an input.
"""
_FORK: Final = multiprocessing.get_context("fork")


class Found(NamedTuple):
    """The faults of one input."""

    number: int
    faults: list[Fault]


class _Child:
    """A child process, its batch of inputs, and the number of the current input."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        self.pipe, theirs = _FORK.Pipe(duplex=False)
        self.process = _FORK.Process(target=target, args=(theirs, *arguments), daemon=True)
        self.process.start()
        theirs.close()
        self.number = arguments[1]
        self.heard = time.monotonic()

    def end(self) -> int | None:
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode


def run_inputs(seed: int, first: int, count: int, seconds: float, jobs: int, folder: Path) -> Iterator[Found]:
    """Yield the faults of each input, until the count or the time limit is reached."""
    deadline, after = time.monotonic() + seconds, first
    children: list[tuple[_Child, int]] = []
    waiting: list[tuple[int, int]] = []
    while time.monotonic() < deadline:
        while len(children) < jobs and (waiting or after < first + count):
            start, end = waiting.pop() if waiting else (after, min(after + BATCH, first + count))
            after = max(after, end)
            children.append((_Child(_run_batch, seed, start, end, folder / f"job-{start}"), end))
            children[-1][0].number = start
        if not children:
            return
        ready = wait([child.pipe for child, _ in children], timeout=1)
        for child, end in list(children):
            if child.pipe in ready:
                found = _hear(child)
            elif time.monotonic() - child.heard > PATIENCE:
                found = Found(child.number, [Fault("hang", "on the clock", (), "")])
                child.end()
            else:
                continue
            if found is not None:
                yield found
            if not child.process.is_alive() and child.pipe.closed:
                children.remove((child, end))
                if child.number + 1 < end:
                    waiting.append((child.number + 1, end))
    for child, _ in children:
        child.end()


def _hear(child: _Child) -> Found | None:
    """Read the next message of a child; if it died before it reported its end, return that as a fault."""
    try:
        word, number, faults = child.pipe.recv()
    except (EOFError, ConnectionError):
        code = child.end()
        kind, place = ("hang", "processor time") if code == -signal.SIGXCPU else ("killed", f"exit {code}")
        return Found(child.number, [Fault(kind, place, (), "")])
    child.heard, child.number = time.monotonic(), number
    if word == "end":
        child.end()
        return None
    return Found(number, faults) if word == "done" else None


def _run_batch(pipe: Connection, seed: int, start: int, end: int, folder: Path) -> None:
    limit_process()
    for number in range(start, end):
        pipe.send(("start", number, []))
        _limit_input()
        pipe.send(("done", number, check_input(make_input(seed, number), folder)))
    pipe.send(("end", end, []))


def _limit_input() -> None:
    """Allow this process SECONDS of further processor time, after which the kernel kills it."""
    used, (_, hard) = int(time.process_time()), resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS, hard))


def minimise(made: FuzzInput, fault: Fault, seconds: float, folder: Path) -> FuzzInput:
    """The smallest input with the same fault that the search finds in this time."""
    if not fault.command:
        return made
    best = made._replace(commands=(fault.command,))
    pipe, theirs = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_reduce, args=(theirs, best, fault, folder), daemon=True)
    process.start()
    theirs.close()
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and pipe.poll(left):
        try:
            best = pipe.recv()
        except EOFError:
            break
    process.kill()
    process.join()
    return best


def _reduce(pipe: Connection, made: FuzzInput, fault: Fault, folder: Path) -> None:
    limit_process()

    def shows_fault(tried: FuzzInput) -> bool:
        return any(one[:2] == fault[:2] for one in check_input(tried, folder))

    for name in list(made.files):
        without = {key: data for key, data in made.files.items() if key != name}
        if without and shows_fault(made._replace(files=without)):
            made = made._replace(files=without)
    pipe.send(made)
    for name in list(made.files):
        lines = made.files[name].splitlines(keepends=True)
        size = max(len(lines) // 2, 1)
        while size:
            start = 0
            while start < len(lines):
                fewer = [*lines[:start], *lines[start + size :]]
                tried = made._replace(files={**made.files, name: b"".join(fewer)})
                if shows_fault(tried):
                    made, lines = tried, fewer
                    pipe.send(made)
                else:
                    start += size
            size //= 2
