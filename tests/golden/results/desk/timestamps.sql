SELECT who, since + 5s AS later, since - INTERVAL '1' MICROSECOND AS before, since > '1970-01-01T00:00:00.000005Z' AS late
FROM visits
