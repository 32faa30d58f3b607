SELECT user FROM clicks JOIN sessions ON clicks.user = sessions.user
