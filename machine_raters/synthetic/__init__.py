"""Synthetic items, which language models make from a study's passages to test its judges."""
