"""Run a project's tests and say exactly what happened."""

__version__ = "0.1.0"
