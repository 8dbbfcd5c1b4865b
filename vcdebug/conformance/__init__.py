"""Did it come true: what a real scheduler did with a snapshot, or a cluster with its jobs, beside the replay.

A scheduler's own program runs against a small API server on loopback, which serves one snapshot and writes down what it
is asked to change. A cluster is captured twice.
"""

from vcdebug.conformance.cluster_verification import Patience, judge_captures, verify_cluster
from vcdebug.conformance.program_verification import verify_program
from vcdebug.conformance.scheduler_program import SchedulerProgram
from vcdebug.conformance.verdicts import Verification

__all__ = ["Patience", "SchedulerProgram", "Verification", "judge_captures", "verify_cluster", "verify_program"]
