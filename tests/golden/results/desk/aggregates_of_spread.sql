SELECT STDDEV(ms) AS sd, STDDEV_POP(ms) AS sdp, VARIANCE(ms) AS v, VAR_POP(ms) AS vp
FROM clicks
WHERE page = 'home'
WITH TUMBLING(50us)
