SELECT clicks.page FROM clicks JOIN sessions ON clicks.user = sessions.user WHERE user = 'ann'
