-- a comment
SELECT who /* another */, cost -- and one more
FROM calls
