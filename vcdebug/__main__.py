"""Entry point of `python -m vcdebug`."""

import sys

from vcdebug.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
