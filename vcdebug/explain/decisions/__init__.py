"""The parts of decisions: calculations, votes, orders, searches, victims and room on nodes."""
