"""Studies from uploaded files: reading, checking and storing a design, its plan and its ratings."""
