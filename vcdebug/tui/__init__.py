"""The terminal debugger."""
