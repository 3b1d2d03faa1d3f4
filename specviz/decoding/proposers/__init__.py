"""Cheap ways to draft tokens."""
