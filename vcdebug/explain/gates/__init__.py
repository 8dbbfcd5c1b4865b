"""The gates on a job's way through the cycle: one question per file, each answered from the recording."""
