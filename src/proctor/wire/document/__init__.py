"""The result document: written, read back, and what stands in it."""
