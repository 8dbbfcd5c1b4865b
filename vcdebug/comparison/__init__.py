"""A recording beside something else: another recording, a scheduler's log, its cache dump, what should always hold."""
