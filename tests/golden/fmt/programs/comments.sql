-- The header.

-- About the stream.
create stream a (x int /* number */, -- trailing
  -- alone
  ts timestamp) watermark ts -- behind the last clause
;
b = select x -- the number
  -- before FROM
  from a /* inline */ where x > 1 -- one
  and x < 5; -- at the end
-- nothing follows
