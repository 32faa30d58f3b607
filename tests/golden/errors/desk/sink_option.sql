OUTPUT recent TO parquet('out', batch_row => 5)
