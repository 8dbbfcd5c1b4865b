"""Fixes: the mildest changes of the snapshot with which a replay places the job."""
