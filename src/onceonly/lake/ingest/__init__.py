"""From published segments to rows that count: check each, see how they fit, take them in.

`segments` looks at one segment, on Spark's workers. `seams` lays segments end to end. `batch`
takes a batch of them into a lake, through any crash. `stream` finds new ones, and `mirror` fetches
those that Spark cannot reach.
"""
