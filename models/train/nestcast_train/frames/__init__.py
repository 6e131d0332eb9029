"""Video: the tables of its coder, and the network that restores shown frames."""
