"""Epochs, snapshots, recovery and garbage collection."""
