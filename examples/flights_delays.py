"""Departure delays of the last hour by origin, every quarter of an hour: hopping windows."""

from flights_data import declare, new_app, show

import waterclock as wc

app = new_app("delays")
flights, weather = declare(app)

delays = (
    flights.clip_duration(1)  # counted when they take off
    .group_by("origin")
    .hopping("1h", "15m")
    .agg(
        flights=wc.count(),
        mean=wc.avg("dep_delay"),
        p90=wc.percentile_disc("dep_delay", 0.9),
        worst=wc.max("dep_delay"),
    )
)

if __name__ == "__main__":
    show("delays", delays, app, (flights, weather))
