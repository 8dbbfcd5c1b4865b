"""A small API server for tests: revisions, exact reads, expiring pages, watches, bindings, and faults."""
