"""Explanations of decisions: pure functions of a recording, with the numbers and events that prove each answer."""
