"""Questions to a store, while programs run on it: as of now or of another time, at one cut through all streams."""
