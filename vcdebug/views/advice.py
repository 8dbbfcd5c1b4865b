"""Whose it is to do what would help."""

from __future__ import annotations

from typing import Final

from vcdebug.explain.advice import Harm

WHO: Final = {
    Harm.JOB: "the job's owner",
    Harm.QUEUE: "who shares the queues",
    Harm.CLUSTER: "the cluster's administrator",
}
