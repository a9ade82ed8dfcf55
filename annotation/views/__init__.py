"""The annotators' pages, one module for each step from the guidelines to rating."""
