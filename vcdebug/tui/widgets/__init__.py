"""Widgets that draw views."""
