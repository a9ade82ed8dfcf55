"""Who works on a study, and how they log in."""
