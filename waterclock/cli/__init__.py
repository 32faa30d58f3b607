"""The ``waterclock`` command: one file per group of commands."""
