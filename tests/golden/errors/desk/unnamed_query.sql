SELECT user FROM clicks;
OUTPUT recent;
