"""Cases of the temporal algebra, written down as data, and a runner that holds every way of running to them."""

from waterclock.conformance.cases import Case, read_cases
from waterclock.conformance.run import MODES, Outcome, run_cases

__all__ = ["MODES", "Case", "Outcome", "read_cases", "run_cases"]
