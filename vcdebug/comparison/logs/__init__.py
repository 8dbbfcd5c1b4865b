"""What the real scheduler would have logged, read from the recording; `messages` holds the lines that are covered."""
