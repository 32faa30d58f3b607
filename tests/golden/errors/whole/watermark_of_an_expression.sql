CREATE STREAM clicks (user STRING, at TIMESTAMP)
  WATERMARK upper(user);
