SELECT ms AS _ms FROM clicks
