"""What a decision was made of: calculations, votes, orders, searches, victims and room on nodes."""
