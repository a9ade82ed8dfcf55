"""The commands of `tiebreak`, which `tiebreak/cli.py` lists."""
