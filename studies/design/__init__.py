"""A study's design: its steps and forms, and what fills them in."""
