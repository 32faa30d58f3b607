SELECT calls.who, calls.cost, clicks.page FROM calls INNER JOIN clicks ON calls.who == clicks.who
