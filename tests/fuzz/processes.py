"""Child processes that run batches of inputs; one that dies or hangs is a fault of the input that it ran."""

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
"""Inputs of one process: what one leaves behind cannot reach far."""
SECONDS: Final = 120
"""Of processor time, for one input: for what goes on although each command is stopped, as in a library's C code."""
PATIENCE: Final = 3600
"""Seconds on the clock without a word from a child: for what waits and takes no processor time. A busy machine may
take a hundred times the processor time of an input.
"""
_FORK: Final = multiprocessing.get_context("fork")


class Found(NamedTuple):
    """The faults of one input."""

    number: int
    faults: list[Fault]


class _Child:
    """A process with a batch of inputs, and which of them it runs."""

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
    """Each input and its faults, until the count or the seconds are reached."""
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
    """The next word of a child; its death is a fault unless it has said that it is done."""
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
    """From now on this process has SECONDS of processor time, behind which the kernel ends it."""
    used, (_, hard) = int(time.process_time()), resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS, hard))


def minimise(made: FuzzInput, fault: Fault, seconds: float, folder: Path) -> FuzzInput:
    """A smaller input with the same fault, as far as it goes in that time."""
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
