"""What the commands print: records in, blocks of text or a JSON document out."""
