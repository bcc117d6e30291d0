"""Runs on disk. An error in this package never changes an answer or an exit code."""
