"""The command line: arguments in, tables, text or JSON out, one line per error."""
