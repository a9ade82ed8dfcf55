"""Judges: language models that rate a study's units under the same design as people."""
