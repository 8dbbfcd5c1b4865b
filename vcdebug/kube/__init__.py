"""Upstream's Kubernetes filters and scorers, one per module, vectorised over node rows."""
