"""Snapshots: manifests, settings and clock of one cluster; read, checked, completed, saved."""
