"""Databases of releases, which every later version upgrades without losing anything."""
