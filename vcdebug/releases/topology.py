"""Changes about network topology: where hard and soft jobs are tried, what is kept of that, and sub jobs.

Upstream: actions/allocate, plugins/network-topology-aware, api.
"""

from vcdebug.releases.change import Change, name_changes

ALLOCATE_TOPOLOGY_TIERS = Change.from_text("""v1.14.0; #4721; H
    A job with hard topology is tried in every HyperNode, tier by tier; there is no implicit root HyperNode.
    decides: placement of jobs with hard topology""")
ALLOCATED_HYPERNODE_ANNOTATION = Change.from_text("""v1.14.0; #4721; H
    A job's HyperNode comes from the PodGroup's annotation only: it is neither derived from running pods nor
    cleared.
    decides: placement of the remaining pods of a job with topology""")
HYPERNODE_SUM_OF_NODE_SCORES = Change.from_text("""v1.14.0; #4721; M
    Of several HyperNodes, the one with the highest sum of scores of the chosen nodes wins.
    decides: which HyperNode of a tier a job with hard topology gets""")
HYPERNODES_NOT_READY = Change.from_text("""v1.14.0; #4721; M
    Without HyperNodes, a job with hard topology ends processing of its queue.
    decides: queues with a job with hard topology, in clusters without HyperNodes""")
NTA_NODE_SCORE_ONLY = Change.from_text("""v1.14.0; #4721; H
    network-topology-aware scores only nodes, for jobs with topology, up to 100 twice.
    decides: the best node of jobs with topology; HyperNodes""")
NTA_HYPERNODE_SCORE = Change.from_text("""v1.13.0; #4345; M
    network-topology-aware also scores HyperNodes, by their distance from that of the job.
    decides: HyperNode of the remaining pods of a job with hard topology""")
NTA_SOFT_ONLY = Change.from_text("""v1.13.0; #4345; M
    The HyperNode of placed pods counts for the next nodes only with soft topology.
    decides: the best node of jobs with hard topology""")
SUBJOBS_ABSENT = Change.from_text("""v1.14.0; #4721; M
    Sub jobs do not exist: subGroupPolicy and highestTierName are not read.
    decides: jobs with subGroupPolicy, or with a tier's name""")
TOPOLOGY_ABSENT = Change.from_text("""v1.12.0; #4310; H
    There is no network topology: HyperNodes and what jobs ask of them are not read.
    decides: where jobs with network topology go""")

CHANGES = name_changes(globals())
