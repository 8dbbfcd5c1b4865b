"""What `make mutants` runs: small faults in the source, each of which some test must notice."""
