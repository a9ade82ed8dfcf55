"""Figures: charts with their finding, their data and how to read them, on pages and as files."""
