CREATE STREAM clicks (user STRING, at TIMESTAMP) WATERMARK at FROM files('clicks.csv', wach => true);
