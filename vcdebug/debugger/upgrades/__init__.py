"""What another release decides differently, and which of the changes between the two parts them."""
