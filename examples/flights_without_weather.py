"""Flights, or parts of them, for which there is no weather record at their origin: an anti join."""

from flights_data import declare, new_app, show

app = new_app("no_weather")
flights, weather = declare(app)

no_weather = flights.select("carrier", "flight", "origin").anti_join(weather, on="origin")

if __name__ == "__main__":
    show("no_weather", no_weather, app, (flights, weather))
