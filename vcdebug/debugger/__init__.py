"""Moving through a recording: position, steps in both directions, breakpoints."""
