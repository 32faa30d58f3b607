"""Two results side by side: at which times they differ, and in which rows."""

from waterclock.compare.difference import Diff, compared, diff, read_both

__all__ = ["Diff", "compared", "diff", "read_both"]
