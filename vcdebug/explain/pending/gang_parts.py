"""Roles and subgroups of a gang: which lack pods, and what that means."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain.answer import Advice, Evidence
from vcdebug.explain.job_view import JobView
from vcdebug.explain.predicate_reasons import format_selector
from vcdebug.grouping import group_by_key
from vcdebug.kube.selector import label_selector
from vcdebug.model.job import JobInfo
from vcdebug.model.pod import TASK_SPEC_KEY
from vcdebug.model.pod_group import SubGroupPolicy
from vcdebug.model.sub_job import MinimumCount
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins.gang import TOO_FEW_SUB_GROUPS

LOST_STATUSES: Final = {TaskStatus.FAILED: "Failed", TaskStatus.RELEASING: "terminating", TaskStatus.UNKNOWN: "Unknown"}
"""Statuses of pods that gang does not count, in words."""


class ShortPart(NamedTuple):
    """A role or the subgroups of a policy below the minimum, for which gang rejects the job."""

    state: str
    """What keeps gang from taking the job: `a role is short`."""
    lack: str
    """`role m has 0 of the 1 pod that minTaskMember requires`."""
    facts: tuple[str, ...]
    advice: tuple[Advice, ...]


def short_parts(job: JobInfo, rejection: Sequence[Evidence]) -> list[ShortPart]:
    """The roles below their minTaskMember, and where gang rejects the job for them, the policies with few subgroups."""
    parts = [_short_role(job, role) for role in job.valid_roles() if not role.is_reached]
    # Releases that do not check subgroups never say so.
    if any(TOO_FEW_SUB_GROUPS in one.text for one in rejection):
        policies = {f"{job.uid}/{policy.name}": policy for policy in job.pod_group.sub_group_policies}
        short = [least for least in job.valid_sub_jobs() if not least.is_reached]
        parts += [_short_policy(job, policies[least.name], least) for least in short]
    return parts


def _short_role(job: JobInfo, role: MinimumCount) -> ShortPart:
    lost = [task for task in job.tasks.values() if task.task_role == role.name and task.status in LOST_STATUSES]
    states = ", ".join(
        f"{join_names(names, 2)} {verb_for(len(names), 'is')} {state}" for state, names in _by_state(lost)
    )
    minimum = f"{count_noun(role.minimum, 'pod')} that minTaskMember requires"
    lack = f"role {role.name} has {role.actual} of the {minimum}{f' ({states})' if states else ''}"
    create = "Create the missing pods of each role."
    if lost:
        create = f"Find out why {states}, and why nothing replaces {'it' if len(lost) == 1 else 'them'}."
    lower = f"{job.uid}: remove the role from minTaskMember, or lower its minimum."
    return ShortPart("a role is short", lack, (), (Advice.for_owner(create), Advice.for_owner(lower)))


def _by_state(tasks: Iterable[TaskInfo]) -> Iterable[tuple[str, list[str]]]:
    return group_by_key((LOST_STATUSES[task.status], task.name) for task in tasks).items()


def _short_policy(job: JobInfo, policy: SubGroupPolicy, least: MinimumCount) -> ShortPart:
    minimum = f"{count_noun(least.minimum, 'subgroup')} that minSubGroups requires"
    lack = f"subGroupPolicy {policy.name} has {least.actual} of the {minimum}"
    selected = format_selector(label_selector(policy.label_selector)) if policy.label_selector is not None else ""
    keys = join_names(policy.match_label_keys)
    values = f"a value of label {keys}" if len(policy.match_label_keys) == 1 else f"the values of labels {keys}"
    ids = [one.uid.removeprefix(f"{one.gid}-") for one in job.sub_jobs.values() if one.gid == least.name]
    present = f"existing: {join_names(sorted(ids), 3)}" if ids else "no such pod exists"
    pods = f"pods with {selected}" if selected else "pods"
    fact = f"A subgroup of {policy.name} is the {pods} that share {values} ({present})."
    missing = count_noun(least.minimum - least.actual, "more subgroup")
    create = f"Create the pods of {missing}, with other values of {keys}."
    lower = f"{job.uid}: lower minSubGroups of {policy.name}."
    return ShortPart("subgroups are missing", lack, (fact,), (Advice.for_owner(create), Advice.for_owner(lower)))


def tasks_by_meant_role(job: JobInfo) -> dict[str, list[TaskInfo]]:
    """Role below its minTaskMember → pods of other roles that are meant for it by name or label, or since no other role
    is short; empty if pods are missing as well.
    """
    if job.valid_task_num() < job.min_available:
        return {}
    short = {least.name: least.minimum - least.actual for least in job.valid_roles() if not least.is_reached}
    strays = _stray_tasks(job)
    stated = {role: [one for one in strays if role in one.pod.labels.values()] for role in short}
    by_name = {role: [one for one in strays if f"-{role}-" in f"-{one.name}-"] for role in short}
    meant = {role: strays if len(short) == 1 else stated[role] or by_name[role] for role in short}
    return meant if all(len(meant[role]) >= count for role, count in short.items()) else {}


def _stray_tasks(job: JobInfo) -> list[TaskInfo]:
    """Tasks of no role that minTaskMember names."""
    return [task for task in job.tasks.values() if task.task_role not in job.task_min_available]


def stray_facts(job: JobInfo) -> Iterator[str]:
    """Yields the pods without a role of minTaskMember, and how gang reads the role of a pod."""
    for role, tasks in group_by_key((task.task_role, task.name) for task in _stray_tasks(job)).items():
        stated = f"state {TASK_SPEC_KEY} {role}, which minTaskMember does not name" if role else f"lack {TASK_SPEC_KEY}"
        yield f"{join_names(tasks, 2)} {stated}: gang reads the role of a pod from that annotation or label only."


def subgroup_minimum_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if the subgroups' minimums add up to fewer pods than minMember."""
    policies = view.job.pod_group.sub_group_policies
    minimums = [(policy.min_sub_groups, policy.sub_group_size or 0) for policy in policies]
    needed_pods = sum(groups * size for groups, size in minimums)  # exact: ints
    if minimums and all(groups and size for groups, size in minimums) and needed_pods < view.job.min_available:
        parts = " + ".join(f"minSubGroups {groups} x subGroupSize {size}" for groups, size in minimums)
        pods = f"{count_noun(needed_pods, 'pod')} ({parts})"
        yield f"Its subgroups need only {pods}, and minMember asks for {view.job.min_available}."


def unchecked_role_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if roles are below their minTaskMember and gang does not check these minimums."""
    job = view.job
    count_by_role = Counter(task.task_role for task in view.tasks.values() if task not in view.unplaced_tasks)
    missed_roles = [
        f"{role} ({count_by_role[role]} of {needed})"
        for role, needed in job.task_min_available.items()
        if count_by_role[role] < needed
    ]
    if missed_roles and view.unplaced_tasks and job.are_roles_unchecked():
        total = sum(job.task_min_available.values())  # exact: ints
        ignored = f"gang ignores minTaskMember (total {total}, above minMember {job.min_available})"
        yield f"Below the minimum of their role: {join_names(missed_roles)}; {ignored}."
