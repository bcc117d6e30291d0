"""The command line: one module for each verb, and one for the verbs that tests use; loaded when needed."""
