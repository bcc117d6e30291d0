"""Files that run in other people's interpreters. Nothing of ours imports them; they import nothing of ours.

`path/` is what goes on the child's module path: it holds private names only, so that neither the project
nor another proctor installed there can take their place.
"""
