"""The control channel: what test programs write to their descriptor, as results."""
