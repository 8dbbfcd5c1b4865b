"""Files that both front ends write and read: reports, recordings, tables, and the user's notes."""
