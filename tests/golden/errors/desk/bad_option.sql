SET epoch_rows = 'many';
