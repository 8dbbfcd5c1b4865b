"""What happened between two cycles, and what a cycle did to others, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vcdebug.amount_text import count_noun, join_names
from vcdebug.debugger.foresight.timed_changes import iter_clock_changes
from vcdebug.model.names import JobId
from vcdebug.model.pod import Pod
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.effects import Effect, cycle_effects
from vcdebug.trace.recording import Recording


def describe_changes(recording: Recording, after: Snapshot) -> Iterator[str]:
    """What no cycle did: pods that ended, left or came back, windows, promises."""
    before = {pod.key: pod for pod in map(Pod, recording.snapshot.objects_of("Pod"))}
    now = {pod.key: pod for pod in map(Pod, after.objects_of("Pod"))}
    ended = [key for key, pod in now.items() if pod.phase == "Succeeded" and before[key].phase != "Succeeded"]
    left = [key for key in before if key not in now]
    back = [key for key, pod in now.items() if key in before and pod.uid != before[key].uid]
    for keys, verb in ((ended, "ended"), (left, "left"), (back, "left and came back")):
        if keys:
            yield f"{join_names(keys)} {verb}"
    for moment in iter_clock_changes(recording):
        if moment.words and recording.snapshot.now < moment.at <= after.now:
            yield moment.words


def describe_deeds(recording: Recording, job: JobId) -> Iterator[str]:
    """Evictions, and what others got."""
    done = cycle_effects(recording)
    if done.evicted:
        yield f"evicts {join_names(effect.task for effect in done.evicted)}"
    for verb, moved in (("binds", done.bound), ("promises room to", done.pipelined)):
        yield from _count_by_job(verb, [effect for effect in moved if effect.job != job])


def _count_by_job(verb: str, moved: list[Effect]) -> Iterator[str]:
    counts = Counter(effect.job for effect in moved)
    if counts:
        yield f"{verb} {join_names(count_noun(count, 'pod') + ' of ' + job for job, count in counts.items())}"
