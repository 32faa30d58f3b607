CREATE STREAM clicks (user STRING, at TIMESTAMP) WATERMARK at FROM file('clicks.csv');
