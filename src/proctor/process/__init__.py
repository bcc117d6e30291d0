"""The only package that starts, watches and ends processes."""
