"""Juries: several machine raters whose answers make one rating of each item."""
