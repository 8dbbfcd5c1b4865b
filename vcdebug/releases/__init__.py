"""What earlier releases of Volcano decide differently, as a table of named changes, and which release has which."""
