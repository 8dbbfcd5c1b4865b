"""Upstream's metrics that a cycle sets, with the values that a scrape right after an event would read.

Only gauges without a clock are here: a replay has no durations, and counters go on from a number that no snapshot has.
Metrics that no release sets (`namespace_*`), or that only some set (capacities, inqueue amounts, PodGroup counts), are
left out, as is capacity's `queue_overused`, which each release sets at another place.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from vcdebug.explain.decisions import queue_figures
from vcdebug.framework.hooks import OVERUSED
from vcdebug.framework.record import CloseEvent
from vcdebug.framework.session_close import UNSCHEDULABLE_CONDITION
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.plugins import CAPACITY, DRF, GANG, PROPORTION
from vcdebug.plugins.gang import unready_task_num
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.session_closing import closing_conditions
from vcdebug.releases.queues import METRICS_WITHOUT_SCALARS

AT_OPEN: Final = "OnSessionOpen"
AT_CLOSE: Final = "OnSessionClose"
WITH_TASKS: Final = f"{AT_OPEN}, AllocateFunc, DeallocateFunc"
UNITS: Final = {CPU: "milli_cpu", MEMORY: "memory_bytes"}
"""Dimension → the ending of the metrics that have it in their name; all others are labels of one metric."""
LARGEST_PLAIN: Final = 1e21
"""Prometheus writes numbers from here on with an exponent."""


class Metric(NamedTuple):
    """One time series: its name, labels and value, and the function of upstream that sets it."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float
    set_by: str

    @property
    def label_text(self) -> str:
        """The labels as Prometheus writes them between braces."""
        return ",".join(f'{name}="{value}"' for name, value in self.labels)

    @property
    def value_text(self) -> str:
        """The value as Prometheus' queries answer it."""
        return str(int(self.value)) if self.value.is_integer() and abs(self.value) < LARGEST_PLAIN else repr(self.value)


def list_metrics(recording: Recording, seq: Seq) -> list[Metric]:
    """All metrics after an event: of queues, of jobs, and, after the last event, of what gang closes with."""
    return [*_iter_queue_metrics(recording, seq), *_iter_job_metrics(recording, seq)]


def _iter_queue_metrics(recording: Recording, seq: Seq) -> Iterator[Metric]:
    plugin = queue_figures.sharing_plugin(recording)
    # capacity returns from a broken tree before it sets any metric of it.
    if not plugin or queue_figures.tree_is_broken(recording):
        return
    calls = _overused_calls(recording) if plugin == PROPORTION else ()
    overused = {queue: result for called, queue, result in calls if called <= seq}
    for name in recording.session.queues:
        labels = (("queue_name", name),)
        for part, amount in _queue_amounts(recording, seq, plugin, name).items():
            yield from _split_amount(recording, part, labels, amount, plugin)
        yield from _queue_numbers(recording, seq, plugin, name)
        if name in overused:
            yield Metric("volcano_queue_overused", labels, float(overused[name]), f"{plugin}.OverusedFn")


def _queue_amounts(recording: Recording, seq: Seq, plugin: str, name: QueueName) -> dict[str, Resource]:
    """Part of a metric's name → amount. A queue that the plugin does not know has zeros, in capacity its own spec."""
    opening, state = (recording.timeline.state_at(moment).books[plugin] for moment in (0, seq))
    if name in opening:
        # Events of a child change what capacity counts at its ancestors, but set no metric of theirs.
        moment = opening if _has_children(recording, name) else state
        parts = {"allocated": moment[name]["allocated"], "request": opening[name]["request"]}
        return parts if _deals_nothing(recording, plugin) else {**parts, "deserved": opening[name]["deserved"]}
    parts = {"allocated": Resource(), "request": Resource()}
    spec = recording.session.queues[name].deserved
    return parts if plugin == PROPORTION else {**parts, "deserved": Resource.from_list(spec or {})}


def _has_children(recording: Recording, name: QueueName) -> bool:
    tree = queue_figures.capacity_tree(recording)
    return tree is not None and bool(tree.queues[name].children)


def _deals_nothing(recording: Recording, plugin: str) -> bool:
    """Whether proportion leaves before its first round, in which it sets what a queue deserves and its share."""
    books = recording.timeline.state_at(0).books[plugin]
    return plugin == PROPORTION and not any(books[name]["weight"] for name in books if name)


def _split_amount(
    recording: Recording, part: str, labels: tuple[tuple[str, str], ...], amount: Resource, plugin: str
) -> Iterator[Metric]:
    """A metric per dimension, in upstream's units: thousandths of CPUs and of other resources, bytes of memory."""
    setter = f"{plugin}.{WITH_TASKS if part == 'allocated' else AT_OPEN}"
    lacks_scalars = recording.session.release.has_older_form(METRICS_WITHOUT_SCALARS)
    for dim, value in amount.items():
        if dim in UNITS:
            yield Metric(f"volcano_queue_{part}_{UNITS[dim]}", labels, value, setter)
        elif not lacks_scalars:
            name = f"volcano_queue_{part}_scalar_resources"
            yield Metric(name, (*labels, ("resource", dim)), value, setter)


def _queue_numbers(recording: Recording, seq: Seq, plugin: str, name: QueueName) -> Iterator[Metric]:
    figures = recording.timeline.state_at(seq).books[plugin].get(name)
    if figures is None:
        return
    labels = (("queue_name", name),)
    if not _deals_nothing(recording, plugin):
        yield Metric("volcano_queue_share", labels, float(figures["share"]), f"{plugin}.{WITH_TASKS}")
    if plugin != CAPACITY:
        yield Metric("volcano_queue_weight", labels, float(figures["weight"]), f"{plugin}.{AT_OPEN}")


@per_recording()
def _overused_calls(recording: Recording) -> tuple[tuple[Seq, QueueName, bool], ...]:
    """(event, queue, answer) of each call of proportion's Overused."""
    calls = recording.hook_calls(OVERUSED.upstream)
    return tuple((seq, event.queue, bool(event.result)) for seq, event in calls if event.plugin == PROPORTION)


def _iter_job_metrics(recording: Recording, seq: Seq) -> Iterator[Metric]:
    for uid, figures in recording.timeline.state_at(seq).books.get(DRF, {}).items():
        namespace, _, name = uid.partition("/")
        if name:
            labels = (("job_ns", namespace), ("job_id", name))
            yield Metric("volcano_job_share", labels, float(figures["share"]), f"{DRF}.{WITH_TASKS}")
    is_closed = seq >= len(recording) and isinstance(recording.last_event, CloseEvent)
    if not is_closed or GANG not in recording.session.plugins:
        return
    setter, unready_jobs = f"{GANG}.{AT_CLOSE}", 0
    for job, condition in closing_conditions(recording):
        is_unready = condition.type == UNSCHEDULABLE_CONDITION
        unready_jobs += is_unready
        lacking = unready_task_num(job) if is_unready else 0
        yield Metric("volcano_unschedule_task_count", (("job_id", job.name),), float(lacking), setter)
    yield Metric("volcano_unschedule_job_count", (), float(unready_jobs), setter)
