"""Ledgers of devices that several pods share on a node, kept beside the node's amounts."""
