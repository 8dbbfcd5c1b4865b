"""Changes of network topology: where hard and soft jobs are tried, what is kept of it, and sub jobs.

Upstream: actions/allocate, plugins/network-topology-aware, api.
"""

from vcdebug.releases.change import Change

ALLOCATE_TOPOLOGY_TIERS = Change(
    "allocate-topology-tiers",
    "A job with hard topology is tried in every HyperNode, tier by tier; there is none above all that are stated.",
    "where jobs with hard topology go",
    "v1.14.0; #4721; H",
)
ALLOCATED_HYPERNODE_ANNOTATION = Change(
    "allocated-hypernode-annotation",
    "The PodGroup's annotation alone says where a job is: it is neither found from running pods nor ever cleared.",
    "where the rest of a job with topology may go",
    "v1.14.0; #4721; H",
)
HYPERNODE_SUM_OF_NODE_SCORES = Change(
    "hypernode-sum-of-node-scores",
    "Of several HyperNodes the one whose chosen nodes had the highest scores in sum wins.",
    "which HyperNode of a tier a job with hard topology gets",
    "v1.14.0; #4721; M",
)
HYPERNODES_NOT_READY = Change(
    "hypernodes-not-ready",
    "Without any HyperNode a job with hard topology ends the turn of its whole queue.",
    "queues in which a job asks for hard topology, where there is none",
    "v1.14.0; #4721; M",
)
NTA_NODE_SCORE_ONLY = Change(
    "nta-node-score-only",
    "network-topology-aware scores nodes only, for jobs with topology, up to 100 and again 100.",
    "the best node of jobs with topology; HyperNodes",
    "v1.14.0; #4721; H",
)
NTA_HYPERNODE_SCORE = Change(
    "nta-hypernode-score",
    "network-topology-aware scores HyperNodes too, by how near they are to the one that the job is in.",
    "which HyperNode of a tier the rest of a job with hard topology gets",
    "v1.13.0; #4345; M",
)
NTA_SOFT_ONLY = Change(
    "nta-soft-only",
    "The HyperNode that a job reaches counts for its next nodes only where its topology is soft.",
    "the best node of jobs with hard topology",
    "v1.13.0; #4345; M",
)
SUBJOBS_ABSENT = Change(
    "subjobs-absent",
    "There are no sub jobs: subGroupPolicy and highestTierName are not read.",
    "jobs with subGroupPolicy, or with a tier's name",
    "v1.14.0; #4721; M",
)
TOPOLOGY_ABSENT = Change(
    "topology-absent",
    "There is no network topology: HyperNodes and what jobs ask of them are not read.",
    "where jobs with network topology go",
    "v1.12.0; #4310; H",
)

CHANGES = tuple(value for value in globals().values() if isinstance(value, Change))
