"""Changes about network topology: where hard and soft jobs are tried, what is kept of that, and sub jobs.

Upstream: actions/allocate, plugins/network-topology-aware, api.
"""

from vcdebug.releases.change import Change, name_changes

ALLOCATE_TOPOLOGY_TIERS = Change(
    "A job with hard topology is tried in every HyperNode, tier by tier; there is no implicit root HyperNode.",
    "placement of jobs with hard topology",
    "v1.14.0; #4721; H",
)
ALLOCATED_HYPERNODE_ANNOTATION = Change(
    "A job's HyperNode comes from the PodGroup's annotation only: it is neither derived from running pods nor cleared.",
    "placement of the remaining pods of a job with topology",
    "v1.14.0; #4721; H",
)
HYPERNODE_SUM_OF_NODE_SCORES = Change(
    "Of several HyperNodes, the one with the highest sum of scores of the chosen nodes wins.",
    "which HyperNode of a tier a job with hard topology gets",
    "v1.14.0; #4721; M",
)
HYPERNODES_NOT_READY = Change(
    "Without HyperNodes, a job with hard topology ends processing of its queue.",
    "queues with a job with hard topology, in clusters without HyperNodes",
    "v1.14.0; #4721; M",
)
NTA_NODE_SCORE_ONLY = Change(
    "network-topology-aware scores only nodes, for jobs with topology, up to 100 twice.",
    "the best node of jobs with topology; HyperNodes",
    "v1.14.0; #4721; H",
)
NTA_HYPERNODE_SCORE = Change(
    "network-topology-aware also scores HyperNodes, by their distance from that of the job.",
    "HyperNode of the remaining pods of a job with hard topology",
    "v1.13.0; #4345; M",
)
NTA_SOFT_ONLY = Change(
    "The HyperNode of placed pods counts for the next nodes only with soft topology.",
    "the best node of jobs with hard topology",
    "v1.13.0; #4345; M",
)
SUBJOBS_ABSENT = Change(
    "Sub jobs do not exist: subGroupPolicy and highestTierName are not read.",
    "jobs with subGroupPolicy, or with a tier's name",
    "v1.14.0; #4721; M",
)
TOPOLOGY_ABSENT = Change(
    "There is no network topology: HyperNodes and what jobs ask of them are not read.",
    "where jobs with network topology go",
    "v1.12.0; #4310; H",
)

CHANGES = name_changes(globals())
