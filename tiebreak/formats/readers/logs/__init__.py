"""Readers of evaluation logs: texts that systems wrote for the samples of a task."""
