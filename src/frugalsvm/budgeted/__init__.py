"""Learners that keep a fixed number of support vectors."""
