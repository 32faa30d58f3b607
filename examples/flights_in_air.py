"""How many flights of each carrier are in the air, at every moment: snapshots."""

from flights_data import declare, new_app, show

import waterclock as wc

app = new_app("in_air")
flights, weather = declare(app)

in_air = flights.group_by("carrier").snapshot().agg(flights=wc.count())

if __name__ == "__main__":
    show("in_air", in_air, app, (flights, weather))
