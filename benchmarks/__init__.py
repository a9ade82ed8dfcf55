"""Speed and memory, as ratios against a named peer or a naive version in the same run."""
