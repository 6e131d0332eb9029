"""Training photos, their colour axes and rotations."""
