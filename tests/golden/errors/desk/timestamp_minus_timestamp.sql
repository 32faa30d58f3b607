SELECT ended - started AS long FROM sessions
