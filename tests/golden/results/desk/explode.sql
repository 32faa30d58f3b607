SELECT who, EXPLODE(split(text, ' ')) AS word FROM visits
