"""Foresight: cycles from one moment to the next at which anything changes, until a job has its place or never will."""
