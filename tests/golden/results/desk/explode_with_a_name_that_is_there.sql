SELECT EXPLODE(split(text, ' ')) AS text FROM visits
