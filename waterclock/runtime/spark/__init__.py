"""Runs steps on Spark. Only this package, batch/spark and spark import pyspark."""
