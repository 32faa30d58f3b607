SELECT CASE WHEN ms > 5 'slow' END AS s FROM clicks
