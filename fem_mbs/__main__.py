"""``python -m fem_mbs``, the same as the console script ``fem-mbs``."""

import sys

from fem_mbs.command import main

if __name__ == "__main__":
    sys.exit(main())
