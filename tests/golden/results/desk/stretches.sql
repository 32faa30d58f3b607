-- Like sessions, but the gap counts from the ends of calls.
SELECT who FROM STITCH((SELECT DISTINCT who FROM EXTEND(calls, 3us))) WHERE who IS NOT NULL
