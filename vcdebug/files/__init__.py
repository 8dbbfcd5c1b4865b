"""What both front ends write to files and read from them: reports as Markdown or HTML, and what a person has set."""
