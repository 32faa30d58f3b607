"""Where the SQL runs."""
