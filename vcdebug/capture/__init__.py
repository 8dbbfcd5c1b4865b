"""Read a live cluster as a Snapshot through the official Kubernetes client; nothing is written to the cluster."""

from vcdebug.capture.api_client import CaptureOptions, Progress
from vcdebug.capture.cluster import capture_cluster

__all__ = ["CaptureOptions", "Progress", "capture_cluster"]
