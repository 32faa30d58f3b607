"""The skins over the plan."""
