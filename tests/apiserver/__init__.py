"""A small API server of our own: revisions, exact reads, pages that expire, watches, bindings, and faults."""
