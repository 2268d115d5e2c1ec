"""Measures the lake against Spark's own floor and against DuckDB and polars (`make bench-lake`)."""
