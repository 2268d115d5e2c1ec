"""Many worlds, run and added up: by seeds, by Spark, exhaustively, or shrunk to their core."""
