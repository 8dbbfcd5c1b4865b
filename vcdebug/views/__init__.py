"""A recording as plain tables and lines: style names instead of colours, no terminal library."""
