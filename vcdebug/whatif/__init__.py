"""What if: edits, further cycles, forecasts, fixes, other releases and other random choices, each replayed."""
