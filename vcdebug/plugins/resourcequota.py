"""resourcequota: admits jobs within the ResourceQuotas of their namespace. Upstream: plugins/resourcequota."""

from collections.abc import Mapping

from msgspec import Struct

from vcdebug.framework.hooks import JOB_ENQUEUED
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.session import Plugin, Session
from vcdebug.kube.listers import Manifest
from vcdebug.model.job import JobInfo
from vcdebug.releases.queues import ENQUEUE_INQUEUE_AT_VOTE, PR_5744, PR_5800
from vcdebug.snapshot.manifest import key_of, metadata_of, namespace_of, spec_of, status_of
from vcdebug.snapshot.quantity import go_struct_text, nano_value

REFUSAL_MESSAGE = "resource quota insufficient, requested: {requested}, used: {used}, limited: {hard}"

QuantityList = Mapping[str, object]


class NamespaceQuota(Struct, frozen=True):
    """The status of a ResourceQuota; of its spec, only releases with the older form of #5800 read the scopes."""

    name: str
    hard: QuantityList
    used: QuantityList


class QuotaCheck(Struct, frozen=True):
    """The check of one resource name against one quota, in units of 10^-9."""

    quota: NamespaceQuota
    name: str
    used: int
    pending: int
    """The sum of the minimums of jobs admitted earlier in this session."""
    minimum: int
    hard: int

    @property
    def exceeded_by(self) -> int:
        """The amount above the quota; 0 or less if the minimum fits."""
        return self.used + self.pending + self.minimum - self.hard


class ResourceQuota(Plugin):
    """Rejects a job if its minimum, with those of jobs admitted earlier in this session, exceeds a quota."""

    name = "resourcequota"
    later_methods = {JOB_ENQUEUED.method: ENQUEUE_INQUEUE_AT_VOTE}
    ssn: Session
    quotas: dict[str, list[NamespaceQuota]]
    pending: dict[str, dict[str, int]]
    """Minimums admitted in this session, by namespace and name, in units of 10^-9; earlier jobs are not counted."""

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/resourcequota.OnSessionOpen."""
        self.reserves_at_vote = ssn.release.has_older_form(ENQUEUE_INQUEUE_AT_VOTE)
        self.adds_once = ssn.release.has_older_form(PR_5744)
        self.ssn = ssn
        leaves_scoped = ssn.release.has_older_form(PR_5800)
        self.quotas, self.pending = {}, {}
        for manifest in sorted(ssn.snapshot.objects_of("ResourceQuota"), key=key_of):
            if leaves_scoped and is_scoped(spec_of(manifest)):
                continue
            status: Manifest = status_of(manifest)
            namespace = namespace_of(manifest)
            self.quotas.setdefault(namespace, []).append(
                NamespaceQuota(metadata_of(manifest)["name"], status.get("hard") or {}, status.get("used") or {})
            )

    def job_enqueueable(self, job: JobInfo) -> int:
        """Reject a job whose minimum exceeds a quota."""
        minimum = job.pod_group.min_resource_list
        if minimum is None:
            return PERMIT
        for quota in self.quotas.get(job.namespace, ()):
            # Names are compared literally: a quota on `requests.cpu` does not limit a minimum of `cpu`.
            checks = quota_checks(quota, self.added_minimum(job), self.pending.get(job.namespace, {}))
            exceeded = [check.name for check in checks if check.exceeded_by > 0]
            if exceeded:
                parts = {"requested": minimum, "used": quota.used, "hard": quota.hard}
                texts = {key: go_map_text(amounts, exceeded) for key, amounts in parts.items()}
                message = REFUSAL_MESSAGE.format(**texts)
                self.ssn.log("resourcequota.refused", job.uid, message)
                self.ssn.record_pod_group_event(job, message)
                return REJECT
        if self.reserves_at_vote:
            self.job_enqueued(job)
        return PERMIT

    def job_enqueued(self, job: JobInfo) -> None:
        if job.namespace in self.quotas:
            add_minimum(self.pending.setdefault(job.namespace, {}), self.added_minimum(job))

    def added_minimum(self, job: JobInfo) -> QuantityList:
        """The amounts that the job adds to the quota's usage: its minimum, or 0 with #5744 once it has pods."""
        minimum = job.pod_group.min_resource_list or {}
        return dict.fromkeys(minimum, "0") if self.adds_once and job.tasks else minimum


def is_scoped(spec: Manifest) -> bool:
    """Whether a ResourceQuota is limited to some pods by scopes."""
    return bool(spec.get("scopes") or (spec.get("scopeSelector") or {}).get("matchExpressions"))


def add_minimum(pending: dict[str, int], minimum: QuantityList) -> None:
    """Add an admitted job's minimum to the pending amounts."""
    for name, amount in minimum.items():
        pending[name] = pending.get(name, 0) + nano_value(amount)


def quota_checks(quota: NamespaceQuota, minimum: QuantityList, pending: Mapping[str, int]) -> list[QuotaCheck]:
    """The checks of the minimum's resource names that the quota limits, in ascending order."""
    return [
        QuotaCheck(
            quota,
            name,
            nano_value(quota.used.get(name)),
            pending.get(name, 0),
            nano_value(minimum[name]),
            nano_value(quota.hard[name]),
        )
        for name in sorted(minimum)
        if name in quota.hard
    ]


def go_map_text(amounts: QuantityList, names: list[str]) -> str:
    """A map of quantities as Go's `%v` prints it, reduced to some names."""
    entries = (f"{name}:{go_struct_text(amounts[name])}" for name in names if name in amounts)
    return f"map[{' '.join(entries)}]"
