"""Upstream's Kubernetes checks as the node plugins use them, one per file, vectorised over node rows."""
