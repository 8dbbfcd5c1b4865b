"""A recording as plain tables and lines, styled by names instead of colours and without a terminal library."""
