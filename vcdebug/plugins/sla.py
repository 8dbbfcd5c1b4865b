"""sla: admits a job whose waiting time is over and counts it as pipelined. Upstream: plugins/sla."""

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin_answers import ABSTAIN, PERMIT
from vcdebug.framework.session import Plugin, Session
from vcdebug.gotime import go_duration_text, parse_duration, parse_nanoseconds, unix_nanoseconds
from vcdebug.model.job import JobInfo
from vcdebug.plugins import ANNOTATIONS

WAITING_TIME_KEY = "sla-waiting-time"
WAITING_ANNOTATIONS = ANNOTATIONS["sla"]


class Sla(Plugin):
    """Orders jobs by deadline and permits overdue jobs; never rejects a job."""

    name = "sla"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.waiting_time = positive_duration(arguments.get_string(WAITING_TIME_KEY, ""))
        """Waiting time in nanoseconds for jobs that set none; None without a default."""
        self.configured_time = arguments.raw.get(WAITING_TIME_KEY)
        if self.configured_time is not None and self.waiting_time is None:
            arguments.replaced_defaults[WAITING_TIME_KEY] = ""
        self.now = 0

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/sla.OnSessionOpen."""
        self.now = unix_nanoseconds(ssn.snapshot.now)
        ssn.log("sla.enter")
        if self.waiting_time is not None:
            ssn.log("sla.global", go_duration_text(self.waiting_time))
        elif self.configured_time is not None:
            configured = parse_duration(str(self.configured_time))
            if configured is None:
                ssn.log("sla.unreadable")
            ssn.log("sla.invalid", go_duration_text(configured or 0))
        ssn.log("sla.leave")

    def job_order(self, left: JobInfo, right: JobInfo) -> int:
        """Earlier deadline first; jobs without a deadline last. Upstream: plugins/sla.jobOrderFn."""
        return earlier_first(self.job_deadline(left), self.job_deadline(right))

    def job_enqueueable(self, job: JobInfo) -> int:
        return self.permit_overdue(job)

    def job_pipelined(self, job: JobInfo) -> int:
        return self.permit_overdue(job)

    def permit_overdue(self, job: JobInfo) -> int:
        """PERMIT once the deadline is reached, else ABSTAIN. Upstream: plugins/sla.permitableFn."""
        deadline = self.job_deadline(job)
        return ABSTAIN if deadline is None or self.now < deadline else PERMIT

    def job_deadline(self, job: JobInfo) -> int | None:
        """Creation time plus the job's or plugin's waiting time, or None. Upstream: plugins/sla.readJobWaitingTime."""
        waiting_times = (positive_duration(job.pod_group.annotations.get(key, "")) for key in WAITING_ANNOTATIONS)
        waiting_time = next((time for time in waiting_times if time is not None), self.waiting_time)
        return None if waiting_time is None else parse_nanoseconds(job.creation_timestamp) + waiting_time


def earlier_first(left: int | None, right: int | None) -> int:
    """Compare deadlines: the earlier one first, None last."""
    if left is None or right is None:
        return int(left is None) - int(right is None)
    return (left > right) - (left < right)


def positive_duration(text: str) -> int | None:
    """A Go duration above 0 in nanoseconds, else None."""
    duration = parse_duration(text)
    return duration if duration is not None and duration > 0 else None
