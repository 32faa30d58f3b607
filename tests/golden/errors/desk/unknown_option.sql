SET epoch_row = 5;
