from proctor.cli.main import entry

entry()
