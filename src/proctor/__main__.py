import sys

from proctor.cli.main import main

sys.exit(main())
