"""What the scheduler process keeps from cycle to cycle: given to a session, and given back by it.

Plugins replace what is theirs in `ssn.process`; what the cache keeps of jobs, and the count of sessions, is entered
here.

Upstream: cache (updateJobInfo), framework/session (openSession: uuid).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.snapshot.cycle_inputs import SchedulerProcess

OWN_ENTRY: Final = ""
"""The job's own entry beside those of its sub jobs."""


def process_after(ssn: Session) -> SchedulerProcess:
    """The process after the session was closed."""
    process = ssn.process
    return replace(
        process,
        started=process.started or ssn.snapshot.now,
        sessions=process.sessions + 1,
        hyper_nodes=_hyper_nodes(ssn),
    )


def _hyper_nodes(ssn: Session) -> Mapping[str, Mapping[str, str]]:
    """The cache takes over what a session says of its dirty jobs; sub jobs without tasks keep theirs."""
    kept = {job: dict(names) for job, names in ssn.process.hyper_nodes.items()}
    for uid in ssn.dirty_jobs:
        job = ssn.jobs[uid]
        names = {OWN_ENTRY: job.allocated_hyper_node}
        names |= {sub_job: job.sub_jobs[sub_job].allocated_hyper_node for sub_job in sorted(job.sub_jobs)}
        kept[uid] = {name: hyper_node for name, hyper_node in {**kept.get(uid, {}), **names}.items() if hyper_node}
    return {uid: kept[uid] for uid in sorted(kept) if kept[uid]}


def restore_hyper_nodes(job: JobInfo, process: SchedulerProcess) -> None:
    """What the cache kept of the job, as the session opens."""
    names = process.hyper_nodes.get(job.uid)
    if not names:
        return
    job.allocated_hyper_node = names.get(OWN_ENTRY, "")
    for uid, sub_job in job.sub_jobs.items():
        sub_job.allocated_hyper_node = names.get(uid, "")
