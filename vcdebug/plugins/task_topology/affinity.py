"""Which roles of a job belong together, as the PodGroup's annotations say.

Upstream: plugins/task-topology (readTopologyFromPgAnnotations, ApplyTaskTopology).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations

from vcdebug.model.job import JobInfo

AFFINITY_KEY = "volcano.sh/task-topology-affinity"
ANTI_AFFINITY_KEY = "volcano.sh/task-topology-anti-affinity"
TASK_ORDER_KEY = "volcano.sh/task-topology-task-order"

INTER_ANTI_PRIORITY = 1
SELF_PRIORITY = 2
INTER_PRIORITY = 3
SELF_ANTI_PRIORITY = 4

Role = str
RoleGroups = list[list[Role]]
RolePairs = dict[tuple[Role, Role], None]


class RoleTopology:
    """Pairs of roles with affinity and anti-affinity, and each role's rank."""

    def __init__(self, affinity: RoleGroups, anti_affinity: RoleGroups, order: list[Role]) -> None:
        self._near: RolePairs = {}
        self._apart: RolePairs = {}
        self.priority: dict[Role, int] = {}
        self._add_groups(affinity, self._near, SELF_PRIORITY, INTER_PRIORITY)
        self._add_groups(anti_affinity, self._apart, SELF_ANTI_PRIORITY, INTER_ANTI_PRIORITY)
        self._order = {role: len(order) - index for index, role in enumerate(order)}

    def _add_groups(self, groups: RoleGroups, pairs: RolePairs, alone: int, together: int) -> None:
        for group in groups:
            if len(group) == 1:
                pairs[group[0], group[0]] = None
            pairs.update(dict.fromkeys(pair for pair in permutations(group, 2) if pair[0] != pair[1]))
            for role in group:
                self.priority[role] = max(self.priority.get(role, 0), alone if len(group) == 1 else together)

    def rank_role(self, role: Role) -> tuple[int, int]:
        """(place in the task order, priority): the higher one comes first."""
        return self._order.get(role, 0), self.priority.get(role, 0)

    def role_affinity(self, role: Role, counts: Mapping[Role, int]) -> int:
        """How many of these tasks the role likes, less those that it avoids."""
        liked = sum(count for other, count in counts.items() if (role, other) in self._near)  # exact: ints
        return liked + self.role_repulsion(role, counts)

    def role_repulsion(self, role: Role, counts: Mapping[Role, int]) -> int:
        """Minus the number of these tasks that the role avoids."""
        return -sum(count for other, count in counts.items() if (role, other) in self._apart)  # exact: ints


def read_topology(job: JobInfo) -> RoleTopology | None:
    """None when the job states none, or names a role that it does not have or twice in one group.
    Upstream: plugins/task-topology/topology.readTopologyFromPgAnnotations.
    """
    annotations = job.pod_group.annotations
    if not any(key in annotations for key in (AFFINITY_KEY, ANTI_AFFINITY_KEY, TASK_ORDER_KEY)):
        return None
    affinity, apart = (_parse_groups(annotations.get(key)) for key in (AFFINITY_KEY, ANTI_AFFINITY_KEY))
    order = annotations[TASK_ORDER_KEY].split(",") if TASK_ORDER_KEY in annotations else []
    known = dict.fromkeys(task.task_role for task in job.tasks.values())
    if not all(_is_valid(group, known) for group in (*affinity, *apart, order)):
        return None
    return RoleTopology(affinity, apart, order)


def _parse_groups(text: str | None) -> RoleGroups:
    """Groups end at `;`, roles at `,`; blanks belong to the role."""
    return [] if text is None else [group.split(",") for group in text.split(";")]


def _is_valid(group: Iterable[Role], known: Mapping[Role, None]) -> bool:
    """Upstream: plugins/task-topology/topology.affinityCheck."""
    named = [role for role in group if role]
    return all(role in known for role in named) and len(named) == len(dict.fromkeys(named))
