SELECT ms AS order FROM clicks
