"""Licences: recorded decisions that a machine rater may stand for an annotator, and their end."""
