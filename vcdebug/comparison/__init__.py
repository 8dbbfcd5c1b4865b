"""Compares a recording: with another recording, a scheduler's log, its cache dump, and with invariants."""
