"""Run a project's tests and report exactly what happened."""

__version__ = "0.1.0"
