"""Cluster objects as scheduling state: upstream's `api` package and the cache's Snapshot()."""
