SELECT page FROM clicks JOIN clicks ON user = user
