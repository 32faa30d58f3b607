"""The same plans over a stream's whole history, as Spark SQL. Shares no code with the operators."""

from waterclock.batch.handle import BatchHandle
from waterclock.batch.run import run_batch

__all__ = ["BatchHandle", "run_batch"]
