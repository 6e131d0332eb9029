"""The network that chooses the gains of a picture's regions."""
