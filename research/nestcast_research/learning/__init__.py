"""Models that the papers define, and their training tasks."""
