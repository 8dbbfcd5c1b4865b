"""Capture: a live cluster, read through the official Kubernetes client, as a Snapshot; nothing is written to it."""

from vcdebug.capture.cluster import capture_cluster
from vcdebug.capture.options import CaptureOptions, Progress

__all__ = ["CaptureOptions", "Progress", "capture_cluster"]
