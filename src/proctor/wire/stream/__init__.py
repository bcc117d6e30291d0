"""JSON lines: the public stream, its rules, and the full log of a run."""
