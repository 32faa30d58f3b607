"""The time machine: recorded epochs executed again, on a desk or as a proof, and past segments run anew."""
