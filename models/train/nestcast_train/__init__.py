"""Trains and exports the models that nestcast ships."""
