"""Recordings: running a cycle, reading it back at any event, writing it as JSON lines."""
