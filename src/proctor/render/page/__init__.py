"""Pages to look at: values → HTML. Nothing here reads a file, a clock or the network; it needs jinja2."""
