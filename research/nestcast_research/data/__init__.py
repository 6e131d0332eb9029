"""Labelled pictures and texts, and vectors of the papers."""
