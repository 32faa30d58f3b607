SELECT user FROM clicks INTERSECT SELECT user FROM sessions
