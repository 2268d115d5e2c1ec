"""The page: reports as one HTML file, for operators and auditors.

`chapters` puts it together out of `cards`; each shows what `findings` has of some report.
`selection` makes a report small enough for it, and is the only file here that knows Spark.
"""
