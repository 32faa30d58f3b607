"""Streams of a store as a data source of Spark: ``format("waterclock")`` in read, readStream, write and writeStream.

import waterclock.spark

waterclock.spark.register(spark)
spark.read.format("waterclock").option("store", "./store").option("stream", "per_user").load()
"""

from waterclock.spark.source import WaterclockSource, register

__all__ = ["WaterclockSource", "register"]
