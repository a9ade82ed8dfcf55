"""Verbs: each one function, keyword-only, in a transaction of its own."""
