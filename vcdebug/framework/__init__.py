"""Session, statements, the hook table and how plugins' answers are combined and recorded."""
