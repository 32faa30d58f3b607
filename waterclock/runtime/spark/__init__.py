"""Runs steps on Spark. The only package that imports pyspark."""
