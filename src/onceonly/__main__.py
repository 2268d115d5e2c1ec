"""`python -m onceonly` is the command line."""

from onceonly.cli import main

main()
