"""Watches a project's files and keys, and decides which tests run next. The command line knows how."""
