"""Capture: a live cluster, read through the official Kubernetes client, as a Snapshot; nothing is written to it."""

from vcdebug.capture.api_client import CaptureOptions, Progress
from vcdebug.capture.cluster import capture_cluster

__all__ = ["CaptureOptions", "Progress", "capture_cluster"]
