"""Ordered binary codes of pictures: autoencoders under nested dropout."""
