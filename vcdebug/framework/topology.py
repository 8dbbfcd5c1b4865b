"""Network topology at session open: the virtual root, soft topologies made hard, allocated hypernodes recovered.

Upstream: framework/session (openSession).
"""

from vcdebug.framework.session import Session
from vcdebug.framework.session_close import restore_hyper_nodes
from vcdebug.model.job import JobInfo
from vcdebug.model.pod_group import NetworkTopology
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import ALLOCATED_CLASS, is_allocated_status
from vcdebug.releases import scheduling

ALLOCATED_HYPER_NODE = "volcano.sh/job-allocated-hypernode"
"""The PodGroup annotation in which older releases store the job's hypernode."""
NO_HYPER_NODE = "no HyperNode exists"


def open_topology(ssn: Session) -> None:
    """Prepare the hypernode tree and every job's topology. Upstream: framework/session.adjustNetworkTopologySpec."""
    root_tier = ssn.hyper_nodes.add_cluster_top_hyper_node(ssn.node_table.names).tier
    only_jobs = ssn.release.has_older_form(scheduling.HIGHEST_TIER_NAME_SUBGROUP)
    for job in ssn.jobs.values():
        _name_to_tier(ssn, job.network_topology)
        for sub_job in () if only_jobs else job.sub_jobs.values():
            _name_to_tier(ssn, sub_job.network_topology)
    for job in () if ssn.release.has_older_form(scheduling.SOFT_TO_HARD) else ssn.jobs.values():
        _soft_to_hard(job, root_tier)
    for job in ssn.jobs.values() if ssn.process.hyper_nodes else ():
        restore_hyper_nodes(job, ssn.process)
    if ssn.release.has_older_form(scheduling.HYPERNODES_NOT_READY) and not ssn.hyper_nodes.stated_tiers():
        ssn.hyper_nodes.ready = False
        ssn.hyper_nodes.problem = NO_HYPER_NODE
    if ssn.release.has_older_form(scheduling.ALLOCATED_HYPERNODE_ANNOTATION):
        _read_annotations(ssn)
    elif ssn.hyper_nodes.ready:
        for job in ssn.jobs.values():
            _remove_invalid(ssn, job)
            if job.contains_network_topology():
                _recover_allocated_hyper_node(ssn, job)


def _read_annotations(ssn: Session) -> None:
    """Upstream: actions/allocate (v1.13 and older)."""
    for job in ssn.jobs.values():
        job.allocated_hyper_node = job.allocated_hyper_node or job.pod_group.annotations.get(ALLOCATED_HYPER_NODE, "")


def _name_to_tier(ssn: Session, topology: NetworkTopology | None) -> None:
    """Upstream: framework/session.translateHighestTierNameToAllowed."""
    if topology is None or topology.highest_tier_allowed is not None or not topology.highest_tier_name:
        return
    tier = ssn.hyper_nodes.tier_names.get(topology.highest_tier_name)
    if tier is not None:
        topology.highest_tier_allowed = tier
        topology.highest_tier_name = ""


def _soft_to_hard(job: JobInfo, root_tier: int) -> None:
    """Upstream: framework/session.convertSoftToHardTopology."""
    if job.network_topology is not None:
        job.network_topology.convert_to_hard(root_tier)
    inherited = job.network_topology.highest_tier_allowed if job.network_topology is not None else None
    for sub_job in job.sub_jobs.values():
        if sub_job.network_topology is not None:
            sub_job.network_topology.convert_to_hard(root_tier if inherited is None else inherited)


def _remove_invalid(ssn: Session, job: JobInfo) -> None:
    """Clear allocated hypernodes, if gone or unused. Upstream: framework/session.removeInvalidAllocatedHyperNode."""
    holders: list[JobInfo | SubJobInfo] = [job, *job.sub_jobs.values()]
    for holder in holders:
        name = holder.allocated_hyper_node
        if name and (name not in ssn.hyper_nodes.by_name or not holder.count_tasks(*ALLOCATED_CLASS)):
            holder.allocated_hyper_node = ""
            ssn.mark_job_dirty(job)


def _recover_allocated_hyper_node(ssn: Session, job: JobInfo) -> None:
    """Upstream: framework/session.recoverAllocatedHyperNode."""
    changed = False
    for sub_job in job.sub_jobs_in_order():
        if sub_job.with_network_topology() and not sub_job.allocated_hyper_node:
            hyper_node = _lowest_tier_hyper_node(ssn, sub_job)
            changed = changed or bool(hyper_node)
            sub_job.allocated_hyper_node = hyper_node
    common = _lca_of_sub_jobs(ssn, job) if changed or not job.allocated_hyper_node else job.allocated_hyper_node
    if changed or common != job.allocated_hyper_node:
        ssn.mark_job_dirty(job)
    job.allocated_hyper_node = common


def _lowest_tier_hyper_node(ssn: Session, sub_job: SubJobInfo) -> str:
    """The lowest-tier hypernode whose nodes, among those of the session, hold all placed tasks of the sub job.
    Upstream: framework/session.getLowestTierHyperNode.
    """
    tree = ssn.hyper_nodes
    nodes = [t.node_name for t in sub_job.tasks.values() if is_allocated_status(t.status) and t.node_name]
    # Ascending, so that min() takes the first by name among equal tiers.
    names = sorted(tree.by_name) if all(node in ssn.nodes for node in nodes) else ()
    common = [name for name in names if all(node in tree.real_nodes.get(name, {}) for node in nodes)] if nodes else []
    if nodes and not common:
        ssn.log("session.no-domain", sub_job.uid)
    if ssn.release.has_older_form(scheduling.SUBJOB_RECOVERY_TIER):
        return min(common, key=lambda name: len(tree.real_nodes[name]), default="")
    return min(common, key=lambda name: tree.by_name[name].tier, default="")


def _lca_of_sub_jobs(ssn: Session, job: JobInfo) -> str:
    result = ""
    for sub_job in job.sub_jobs_in_order():
        if sub_job.allocated_hyper_node:
            result = ssn.hyper_nodes.get_lca_hyper_node(result, sub_job.allocated_hyper_node)
            if not result:
                break
    return result
