"""Run a scheduler's own program against the small server on a snapshot.

A scheduler runs its first cycle as soon as it is up, perhaps before it has read everything. So PodGroups are held back
until that cycle, which sees no job, is over; the next cycle counts. Pods are listed last, since a scheduler looks up
their claims only when it first reads them. Nodes are written again after the first cycle, as kubelets do all the time:
only then does the scheduler account for their devices. Of several cycles each follows the one before: between them the
server does what vcdebug's own rule says.
"""

import json
import os
import re
import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TextIO

from msgspec import Struct, field, structs
from msgspec.structs import replace

from vcdebug.amount_text import count_noun
from vcdebug.conformance import loopback_server
from vcdebug.conformance.api_server import EVENTS, ApiServer, ApiWrite
from vcdebug.conformance.cycle_outcome import GROUPS, PODS
from vcdebug.conformance.object_store import (
    conf_with_metrics,
    key_of,
    metrics_of,
    pass_between_cycles,
    with_metrics,
    with_stored_objects,
)
from vcdebug.conformance.scheduler_log import SchedulerLog
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import JsonObject, spec_of
from vcdebug.snapshot.settings import FLAG_FIELDS
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot
from vcdebug.whatif.next_cycle import BetweenCycles

HELD_KIND = "PodGroup"
NODES_PATH = KIND_BY_NAME["Node"].api_path
BEGIN_MARK, END_MARK = "Start scheduling ...", "End scheduling ..."
MAX_MISSED = 3
"""Maximum number of cycles until the PodGroups have arrived."""
COUNTED_CYCLE = 2
"""Number of the process's cycle that is usually compared."""
LEAST_PAUSE, PAUSE_PER_OBJECT = 1.5, 0.002
"""Seconds between cycles, in which the scheduler reads PodGroups and writes its decisions."""
MORE_PAUSE = 2.5
"""Seconds added if the next cycle is compared too: this one's writes must arrive before it begins."""
QUIET_SECONDS = 0.5
"""Seconds without a request after which a cycle's writes count as complete."""
VOLUMES, QUIET_OF_VOLUMES = ("persistentvolumeclaims", "persistentvolumes"), 1.4
"""Kinds of volumes, and the quiet time for them: the scheduler polls volumes once a second before it binds."""
LEASE_GROUP = "coordination.k8s.io"
LOG_HINT = "--log FILE stores its log"
SCHEDULER_HINT = f"{LOG_HINT}; the binary must be a vc-scheduler with a log that shows cycle boundaries"
MIN_VERBOSITY = 4
"""The lowest verbosity at which a scheduler logs the begin and end of a cycle."""
_VERBOSITY = re.compile(r"(?<!\S)--?v[= ]?(\d+)(?!\S)")
KUBECONFIG = "kubeconfig"
NO_OBJECTS: Mapping[str, Iterable[Manifest]] = {}
INHERITED_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")


class SchedulerProgram(Struct, frozen=True):
    """The program to run, and how long to wait for it."""

    path: str
    arguments: tuple[str, ...] = ()
    """Further arguments, which override all others."""
    timeout_seconds: float = 120.0
    """Seconds in which the program must finish."""
    cycles: int = 1
    """Number of cycles with jobs that are observed."""
    period: float = 0.0
    """Seconds between two cycles; 0 derives them from the size of the snapshot."""
    between: BetweenCycles = field(default_factory=BetweenCycles)
    """What else happens between two cycles; its interval is not used."""
    log: str = ""
    """File to which the complete log is written; empty for none."""


class EndedEarly(VcdebugError):
    """Raised if the program panics before its first cycle with jobs."""

    def __init__(self, message: str, where: str, snapshot: Snapshot) -> None:
        super().__init__(message, LOG_HINT, where)
        self.snapshot = snapshot
        """The snapshot as the cycle with jobs would have started from it."""


class ObservedCycle(Struct):
    """The program's outcome in one observed cycle."""

    snapshot: Snapshot
    """The snapshot at the beginning of the cycle."""
    writes: list[ApiWrite]
    log: list[str]
    """The lines of the cycle's log; the middle of a long log is left out."""
    early_end: str
    """Why the cycle is not whole; empty if it is."""
    seconds: float
    counted_cycle: int = COUNTED_CYCLE
    """The number of the cycle in its process."""
    logged: int = 0
    """Number of lines that the cycle logged."""
    jobs: int | None = None
    """Number of jobs at the beginning of the cycle, from the log."""
    logged_chance: ChanceSettings = field(default_factory=ChanceSettings)
    """The cycle's random choices, from the log."""


class _ProgramRun(Struct):
    """One process under observation; `wire.lock` guards it."""

    server: loopback_server.LoopbackServer
    process: subprocess.Popen[str]
    log: SchedulerLog
    cycle_starts: list[datetime] = []
    ended_count: int = 0
    has_ended: bool = False
    counted_cycle: int = COUNTED_CYCLE
    started: float = field(default_factory=time.monotonic)

    def read_log(self) -> None:
        """Read the log until the program closes it."""
        for line in self.process.stderr or ():
            with self.server.lock:
                if BEGIN_MARK in line:
                    self.cycle_starts.append(datetime.now(UTC))
                counts = len(self.cycle_starts) <= self.counted_cycle
                if BEGIN_MARK in line and counts:
                    self.log.begin_cycle()
                self.log.add_line(line.rstrip("\n"), counts=counts)
                self.ended_count += END_MARK in line
                if BEGIN_MARK in line or END_MARK in line:
                    self.server.lock.notify_all()
        with self.server.lock:
            self.has_ended = True
            self.server.lock.notify_all()

    def is_counted(self, written: ApiWrite) -> bool:
        """Whether a write may belong to the observed cycle, because the next one has not begun."""
        return len(self.cycle_starts) <= self.counted_cycle and written.address.group != LEASE_GROUP

    def wait_until(self, until: Callable[[], bool], seconds: float) -> bool:
        """Wait until the condition holds, the program ends or the time is over; returns the condition."""
        with self.server.lock:
            self.server.lock.wait_for(lambda: until() or self.has_ended, max(0.0, seconds))
            return until()

    def wait_for_quiet(self, seconds: float) -> None:
        """Wait until no request has come for a while, at most `seconds`."""
        end, before = time.monotonic() + seconds, -1
        while time.monotonic() < end and before != self.server.requests and not self.are_writes_over:
            before = self.server.requests
            self.wait_until(lambda: self.are_writes_over, quiet_after(self.server.api.writes))

    @property
    def are_writes_over(self) -> bool:
        """Whether the cycle's writes are over: the next cycle has begun, or the program has ended."""
        return self.has_ended or len(self.cycle_starts) > self.counted_cycle

    def await_metrics(self, seconds: float) -> None:
        """Wait until the scheduler has queried the usage of every node, and the cycle during it is over."""
        metrics = self.server.api.metrics
        if metrics is not None:
            self.wait_until(lambda: metrics.is_round_complete, seconds)
            self.wait_until(lambda: self.ended_count == len(self.cycle_starts), seconds)


def quiet_after(written: Sequence[ApiWrite]) -> float:
    """Seconds without a request after which these writes of a cycle count as complete."""
    return QUIET_OF_VOLUMES if any(write.address.plural in VOLUMES for write in written) else QUIET_SECONDS


def observe_program(
    snapshot: Snapshot, program: SchedulerProgram, tell: Callable[[str], None] = lambda _: None
) -> list[ObservedCycle]:
    """Run the program on a snapshot until its cycles with jobs are over; `tell` gets each stage in words.

    Raises EndedEarly where it panics before that cycle, VcdebugError where it cannot be run or never schedules.
    """
    _check_verbosity(program)
    started = datetime.now(UTC).replace(microsecond=0)
    present = loopback_server.moved_to_present(snapshot, started)
    program = replace(program, between=_in_present(program.between, present, present.now - snapshot.now))
    api = ApiServer(clock=lambda: datetime.now(UTC), version=snapshot.flags.server_version)
    held_groups = fill_server(api, present)
    api.stores_write = _only_queues
    api.metrics = metrics_of(present)
    wire = loopback_server.LoopbackServer(api, secrets.token_urlsafe(24), last_list=KIND_BY_NAME["Pod"].api_path)
    with (
        loopback_server.serve_on_loopback(wire) as address,
        tempfile.TemporaryDirectory(prefix="vcdebug-verify-") as folder,
        _log_file(program) as file,
        _running_program(
            _command_line(program, present, address, Path(folder)), wire, folder, SchedulerLog(file)
        ) as run,
    ):
        tell(f"{program.path} reads the snapshot")
        return _observe_cycles(run, api, held_groups, present, started, program, tell)


def _in_present(between: BetweenCycles, present: Snapshot, ago: timedelta) -> BetweenCycles:
    """The changes, with arrivals at moved times and as the server serves them."""
    arrivals = {
        number: {
            kind: [{**_as_served(kind, body, present.now)} for body in bodies]
            for kind, bodies in loopback_server.moved_objects(objects, ago).items()
        }
        for number, objects in between.arrivals.items()
    }
    return structs.replace(between, arrivals=arrivals)


def _check_verbosity(program: SchedulerProgram) -> None:
    """Raise VcdebugError for arguments that silence the log lines that observe_program waits for."""
    levels = _VERBOSITY.findall(" ".join(program.arguments))
    if levels and int(levels[-1]) < MIN_VERBOSITY:
        raise VcdebugError(
            f"with -v={levels[-1]} the log shows no cycle boundaries",
            f"use at least -v={MIN_VERBOSITY}, the default",
            program.path,
        )


@contextmanager
def _log_file(program: SchedulerProgram) -> Iterator[TextIO | None]:
    if not program.log:
        yield None
        return
    with Path(program.log).open("w", encoding="utf-8") as file:
        yield file


def _observe_cycles(
    run: _ProgramRun,
    api: ApiServer,
    held_groups: list[Manifest],
    present: Snapshot,
    started: datetime,
    program: SchedulerProgram,
    tell: Callable[[str], None],
) -> list[ObservedCycle]:
    since = time.monotonic()
    early = loopback_server.at_cycle(present, datetime.now(UTC), started, ())
    if not run.wait_until(lambda: run.ended_count > 0, program.timeout_seconds):
        if run.log.panic_line or run.has_ended:  # os.Exit says no more than any other line
            raise EndedEarly(f"exited before the first cycle: {run.log.last_words()}", program.path, early)
        raise VcdebugError(f"did not start scheduling: {run.log.last_words()}", SCHEDULER_HINT, program.path)
    run.await_metrics(program.timeout_seconds - (time.monotonic() - since))
    _count_next(run, api, {NODES_PATH: api.store.objects_of(NODES_PATH), KIND_BY_NAME[HELD_KIND].api_path: held_groups})
    tell(
        f"first cycle finished; sent {count_noun(len(held_groups), 'PodGroup')}, cycle {run.counted_cycle} is compared"
    )
    run.wait_until(lambda: run.ended_count >= run.counted_cycle, program.timeout_seconds - (time.monotonic() - since))
    while _is_missed(run, api, held_groups):
        tell(f"cycle {run.counted_cycle} began before the PodGroups had arrived; the next one is compared")
        _count_next(run, api)
        run.wait_until(
            lambda: run.ended_count >= run.counted_cycle, program.timeout_seconds - (time.monotonic() - since)
        )
    if run.has_ended and len(run.cycle_starts) < run.counted_cycle:
        raise EndedEarly(f"exited before the compared cycle: {run.log.last_words()}", program.path, early)
    earlier = run.cycle_starts[: run.counted_cycle - 1]
    cycles = [_read_cycle(run, api, program, tell, lambda at: loopback_server.at_cycle(present, at, started, earlier))]
    while len(cycles) < program.cycles and not cycles[-1].early_end:
        between = structs.replace(program.between, interval=timedelta(seconds=_period_seconds(present, program)))
        snapshot = _advance_to_next_cycle(run, api, present, between, len(cycles) + 1)
        run.wait_until(lambda: run.ended_count >= run.counted_cycle, program.timeout_seconds)
        cycles.append(_read_cycle(run, api, program, tell, partial(_at_time, snapshot)))
    return cycles


def _count_next(run: _ProgramRun, api: ApiServer, sent: Mapping[str, Iterable[Manifest]] = NO_OBJECTS) -> None:
    """Observe the next cycle from now on; `sent` are objects that the scheduler receives before it."""
    with run.server.lock:
        run.counted_cycle = len(run.cycle_starts) + 1
        api.stores_write = run.is_counted
        api.writes.clear()
        for path, manifests in sent.items():
            for manifest in manifests:
                api.store.put_object(path, manifest)
        run.server.lock.notify_all()


def _at_time(snapshot: Snapshot, now: datetime) -> Snapshot:
    return replace(snapshot, now=now)


def _advance_to_next_cycle(
    run: _ProgramRun, api: ApiServer, present: Snapshot, between: BetweenCycles, number: int
) -> Snapshot:
    """Let the time between two cycles pass; returns the snapshot for the next one, without process state."""
    with run.server.lock:
        if run.are_writes_over:
            hint = "--every 20s leaves more time"
            raise VcdebugError(
                f"cycle {run.counted_cycle + 1} began before the writes of {run.counted_cycle} were in", hint
            )
        bound = {key_of(write.body): spec_of(write.body)["nodeName"] for write in api.writes if write.verb == "bind"}
        pass_between_cycles(api.store, bound, datetime.now(UTC), between, number)
        _count_next(run, api)
        arrived = [kind for cycle, arrivals in between.arrivals.items() if cycle <= number for kind in arrivals]
        return with_stored_objects(present, api.store, arrived)


def _read_cycle(
    run: _ProgramRun,
    api: ApiServer,
    program: SchedulerProgram,
    tell: Callable[[str], None],
    snapshot_at: Callable[[datetime], Snapshot],
) -> ObservedCycle:
    """The cycle that counts, once all of it is written; `snapshot_at` gives the snapshot as it began."""
    run.wait_for_quiet(program.timeout_seconds)
    tell(f"cycle {run.counted_cycle} finished: {count_noun(len(api.writes), 'request')}, {run.log.count} log lines")
    with run.server.lock:
        began = (
            run.cycle_starts[run.counted_cycle - 1] if len(run.cycle_starts) >= run.counted_cycle else datetime.now(UTC)
        )
        snapshot = with_metrics(snapshot_at(began), api.metrics, began)
        return ObservedCycle(
            snapshot,
            list(api.writes),
            list(run.log),
            _end_reason(run),
            time.monotonic() - run.started,
            run.counted_cycle,
            run.log.count,
            run.log.jobs,
            run.log.drawn_chance([key_of(node) for node in snapshot.objects_of("Node")]),
        )


def _is_missed(run: _ProgramRun, api: ApiServer, held_groups: list[Manifest]) -> bool:
    """Whether the cycle began before the PodGroups arrived, and wrote nothing about pods or PodGroups."""
    with run.server.lock:
        late = bool(held_groups) and run.log.jobs == 0 and run.counted_cycle < COUNTED_CYCLE + MAX_MISSED
        idle = not any(write.address.plural in (PODS, GROUPS) for write in api.writes)
        return late and idle and run.ended_count == run.counted_cycle == len(run.cycle_starts) and not run.has_ended


def _end_reason(run: _ProgramRun) -> str:
    """Why the cycle is not whole; empty if it is."""
    # Go runs deferred calls on a panic: the log line that ends a cycle does not prove that the cycle was whole.
    if run.has_ended or run.log.panic_line:
        return f"the scheduler exited: {run.log.last_words()}"
    return "" if run.ended_count >= run.counted_cycle else "the cycle did not finish in time"


def fill_server(api: ApiServer, snapshot: Snapshot) -> list[Manifest]:
    """Put all objects except PodGroups into the server's store; returns the PodGroups."""
    for kind, manifests in snapshot.objects.items():
        row = KIND_BY_NAME[kind]
        for manifest in manifests if kind != HELD_KIND else ():
            served = _as_served(kind, manifest, snapshot.now)
            api.store.put_object(row.api_path, {**served, "kind": kind, "apiVersion": row.api_version})
    row = KIND_BY_NAME[HELD_KIND]
    return [{**each, "kind": HELD_KIND, "apiVersion": row.api_version} for each in snapshot.objects_of(HELD_KIND)]


def _as_served(kind: str, manifest: Manifest, now: datetime) -> JsonObject:
    if kind == "Pod":
        return loopback_server.canonical_pod(manifest)
    return loopback_server.answered_node(manifest, now) if kind == "Node" else manifest


def _only_queues(written: ApiWrite) -> bool:
    """Whether to store a write before the observed cycle: only creations, such as the scheduler's own queues."""
    return written.verb == "create" and written.address.plural != EVENTS


def _command_line(program: SchedulerProgram, snapshot: Snapshot, address: str, folder: Path) -> list[str]:
    """Write kubeconfig and configuration into `folder`, and return the command line with them."""
    kubeconfig = folder / KUBECONFIG
    kubeconfig.write_text(json.dumps(_kubeconfig_data(address)), encoding="utf-8")
    conf = []
    if snapshot.scheduler_conf is not None:
        (folder / "conf").mkdir()
        file = folder / "conf" / "volcano-scheduler.conf"
        file.write_text(conf_with_metrics(snapshot.scheduler_conf, address if snapshot.usage else ""), encoding="utf-8")
        conf = [f"--scheduler-conf={file}"]
    # Client rates far above upstream's: otherwise a large cycle's writes would overlap the next cycle.
    always = [
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        f"--schedule-period={_period_seconds(snapshot, program):g}s",
        "--kube-api-qps=5000",
        "--kube-api-burst=5000",
        "--logtostderr=true",
        "-v=4",
    ]
    return [program.path, *always, *conf, *_iter_flag_arguments(snapshot.flags), *program.arguments]


def _period_seconds(snapshot: Snapshot, program: SchedulerProgram) -> float:
    """Seconds between two cycles, in proportion to the objects that are read and written in between."""
    if program.period:
        return program.period
    unbound = [pod for pod in snapshot.objects_of("Pod") if not spec_of(pod).get("nodeName")]
    objects = len(unbound) + len(snapshot.objects_of(HELD_KIND)) + len(snapshot.objects_of("Node"))
    more = (MORE_PAUSE if program.cycles > 1 else 0) + (
        QUIET_OF_VOLUMES if snapshot.objects_of("PersistentVolume") else 0
    )
    return LEAST_PAUSE + PAUSE_PER_OBJECT * objects + more


def _iter_flag_arguments(flags: SchedulerFlags) -> Iterator[str]:
    """The flags that differ from upstream's defaults."""
    default = SchedulerFlags()
    for name, field_name in FLAG_FIELDS.items():
        value = getattr(flags, field_name)
        if value == getattr(default, field_name):
            continue
        if isinstance(value, tuple):
            yield from (f"--{name}={item}" for item in value)
        elif isinstance(value, dict):
            yield f"--{name}={','.join(f'{gate}={str(on).lower()}' for gate, on in sorted(value.items()))}"
        else:
            yield f"--{name}={str(value).lower() if isinstance(value, bool) else value}"


def _kubeconfig_data(address: str) -> Manifest:
    name = "vcdebug"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": address}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }


@contextmanager
def _running_program(
    command: Sequence[str], wire: loopback_server.LoopbackServer, folder: str, log: SchedulerLog
) -> Iterator[_ProgramRun]:
    # Without the rest of the environment: a KUBECONFIG there would lead the program to a real cluster. Before v1.12 the
    # ledger of virtual GPUs has a client of its own, which looks for one there.
    environment = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    environment |= {"HOME": folder, "KUBECONFIG": str(Path(folder) / KUBECONFIG)}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
            text=True,
            errors="replace",
        )
    except OSError as failure:
        raise VcdebugError(f"cannot run: {failure.strerror or failure}", where=command[0]) from failure
    run = _ProgramRun(wire, process, log)
    reader = threading.Thread(target=run.read_log, daemon=True)
    reader.start()
    try:
        yield run
    finally:
        _end_process(process)
        reader.join(5)


def _end_process(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
