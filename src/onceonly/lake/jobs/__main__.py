"""What `python -m onceonly.lake.jobs` and `spark-submit` run."""

import os
import sys

from onceonly.lake.jobs.script import main

if __name__ == "__main__":
    # As the command line has it: what a job writes on this machine is nobody else's.
    os.umask(os.umask(0o027) | 0o027)
    sys.exit(main())
