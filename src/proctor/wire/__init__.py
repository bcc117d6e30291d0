"""Bytes to values and back. Nothing here opens, reads, waits or looks at a clock."""
