"""The researcher's pages about machine raters."""
