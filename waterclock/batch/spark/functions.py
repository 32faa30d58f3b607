"""Makes user code known to a Spark session, as functions over Arrow arrays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from waterclock.batch.user import function_of, name_of, type_of
from waterclock.plan.nodes import Node
from waterclock.plan.user import user_code
from waterclock.runtime.spark.ship import by_value


def register(own: SparkSession, plans: Sequence[Node]) -> None:
    with by_value(plans), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the types are given, not hinted
        for found in user_code(*plans):
            made = arrow_udf(function_of(found), type_of(found), ArrowUDFType.SCALAR)
            own.udf.register(name_of(found), made)
