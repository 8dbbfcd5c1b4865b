"""The main screen: one Screen, and a small object for each thing that it can do."""
