"""What `python -m onceonly.lake.jobs` and `spark-submit` run."""

import sys

from onceonly.lake.jobs.script import main

if __name__ == "__main__":
    sys.exit(main())
