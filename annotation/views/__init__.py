"""The pages of an annotator, one module for each step of their way."""
