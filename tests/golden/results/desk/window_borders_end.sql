SELECT window_start AS s, window_end AS e, COUNT(*) AS n FROM clicks WITH TUMBLING(10us) RESULT AT END
