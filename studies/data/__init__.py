"""Datasets: where their texts come from, and copies that are made of them."""
