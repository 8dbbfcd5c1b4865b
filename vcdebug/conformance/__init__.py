"""`vcdebug verify`: compare the replay with a scheduler's own program, or with what happened in a cluster.

The program runs against a small API server on loopback that serves the snapshot and records every write. A cluster is
captured twice, before and after its scheduler ran.
"""

from vcdebug.conformance.cluster_verification import ClusterReader, Patience, judge_captures, verify_cluster
from vcdebug.conformance.program_verification import verify_cycles
from vcdebug.conformance.scheduler_program import SchedulerProgram
from vcdebug.conformance.verdicts import Verification

__all__ = [
    "ClusterReader",
    "Patience",
    "SchedulerProgram",
    "Verification",
    "judge_captures",
    "verify_cluster",
    "verify_cycles",
]
