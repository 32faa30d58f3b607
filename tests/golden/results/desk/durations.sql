SELECT who, since + 1h 30m AS a, since + 2 MINUTES AS b, since + INTERVAL '1 day 2 hours' AS c, since + INTERVAL 5 SECONDS AS d, 250ms + since AS e
FROM visits WHERE who = 'ann'
