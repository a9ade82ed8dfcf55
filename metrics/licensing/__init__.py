"""Licences: recorded decisions that a machine rater may replace an annotator, and their end."""
