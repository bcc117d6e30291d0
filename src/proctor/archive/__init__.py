"""Runs on disk. A fault in here never changes an answer or an exit code."""
