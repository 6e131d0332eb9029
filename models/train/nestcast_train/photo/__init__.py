"""The photo models: transforms, quantiser, rate, and their training."""
