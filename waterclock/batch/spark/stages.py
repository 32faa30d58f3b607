"""How far Spark is with what it runs now."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark import SparkContext

from waterclock.batch.steps import Step


def running() -> Step | None:
    """The newest stage that runs and how many of its tasks are done; None if none does."""
    context = SparkContext._active_spark_context
    if context is None or getattr(context, "_jsc", None) is None:  # not yet, or no longer
        return None
    try:
        tracker = context.statusTracker()
        found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    except (Py4JError, OSError):
        return None  # it is ending
    newest = max((stage for stage in found if stage is not None), key=lambda stage: stage.stageId, default=None)
    if newest is None:
        return None
    return Step(f"stage {newest.stageId} of Spark", newest.numCompletedTasks, newest.numTasks, "tasks")
