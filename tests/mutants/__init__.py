"""`make mutants`: small faults in the source, each of which some test must detect."""
