"""What one decision was made of: pure functions of a recording, each with the numbers and events that prove it."""
