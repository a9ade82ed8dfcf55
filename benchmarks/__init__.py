"""Benchmarks of speed and memory, as ratios to a named peer or a naive version in the same run."""
