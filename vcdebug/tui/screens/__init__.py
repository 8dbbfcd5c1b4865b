"""Screens over the main one, or before it."""
