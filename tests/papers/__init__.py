"""Experiments of papers, repeated as a researcher would: by pages, the interface and commands."""
