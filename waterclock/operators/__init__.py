"""The algebra: one operator a file, frames in, frames out; no I/O, no Spark, no clock."""
