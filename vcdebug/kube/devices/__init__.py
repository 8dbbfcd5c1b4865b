"""Devices that resource claims are about: where they are, which of them a claim may have, and which it takes."""
