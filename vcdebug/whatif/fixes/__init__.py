"""Remedies: changes that were carried out on the snapshot and replayed, the mildest that let a job in."""
