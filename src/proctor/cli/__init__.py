"""The command line: one module a verb, loaded when it is asked for."""
