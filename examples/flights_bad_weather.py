"""Which flights were in the air during heavy wind or rain at their origin, and when: an interval join."""

from flights_data import declare, new_app, show

import waterclock as wc

app = new_app("bad_weather")
flights, weather = declare(app)

heavy = weather.filter((wc.col("wind_speed") > 30) | (wc.col("precip") > 0.3))
bad_weather = flights.select("carrier", "flight", "origin", "dest").join(heavy, on="origin")

if __name__ == "__main__":
    show("bad_weather", bad_weather, app, (flights, weather))
