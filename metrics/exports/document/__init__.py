"""A study's report as a document: its content, and how it becomes HTML, LaTeX and PDF."""
