"""Files that run in the interpreters of the tests. They do not import proctor, nor does proctor import them.

`path/` is what goes on the child's module path: it holds private names only, so that neither the project
nor another proctor installed there can take their place.
"""
