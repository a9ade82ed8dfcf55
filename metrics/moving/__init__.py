"""Moving a study to another server: what belongs to it, its file, and how it arrives."""
