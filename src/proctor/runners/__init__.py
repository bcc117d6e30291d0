"""How each kind of test is run: plans, as values.

A runner reads the project's files (`pathlib`) and looks programs up (`places`). It writes no file, starts no
process, opens no connection, waits for nothing and knows no clock; the import contract checks the last four.
"""
