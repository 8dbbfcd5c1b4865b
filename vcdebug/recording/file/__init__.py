"""A recording as bytes, and back: it opens without being run again, and makes its parts as somebody looks at them."""
