"""Baselines: machine raters that follow a simple rule and need no language model."""
