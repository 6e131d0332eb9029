"""What the figures and tables measure."""
