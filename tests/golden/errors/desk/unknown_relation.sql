SELECT d.page FROM clicks c
