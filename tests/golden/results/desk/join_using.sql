SELECT who, cost, page FROM calls JOIN clicks USING (who)
