"""Sources and sinks, each one file."""
