clicks = SELECT user FROM sessions
