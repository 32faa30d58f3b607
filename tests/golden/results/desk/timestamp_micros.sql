SELECT who, unix_micros(since) AS u, timestamp_micros(n) AS t FROM visits
