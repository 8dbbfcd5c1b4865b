"""The file format of recordings: a stored recording opens without a replay, and makes its objects on demand."""
