"""Ratings and verdicts that machines gave elsewhere, from uploaded files."""
