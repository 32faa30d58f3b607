"""Aircraft that took off again less than 40 minutes after landing: a clip join ends their time on the ground,
and a join at that instant finds the flight that ended it."""

from flights_data import declare, new_app, show

import waterclock as wc

app = new_app("turnrounds")
flights, weather = declare(app)

landed = flights.select("tailnum", "flight", "dest").filter(wc.col("tailnum").is_not_null()).point_at_end()
on_ground = landed.set_duration("40m").clip_join(flights, on="tailnum")
short = on_ground.with_columns(minutes=(wc.end().unix_micros() - wc.start().unix_micros()) // 60_000_000).filter(
    wc.col("minutes") < 40
)
take_offs = flights.select("tailnum", next_flight=wc.col("flight"), next_from=wc.col("origin")).clip_duration(1)
turnrounds = short.point_at_end().join(take_offs, on="tailnum")

if __name__ == "__main__":
    show("turnrounds", turnrounds, app, (flights, weather))
