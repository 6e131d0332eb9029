"""The synthesis networks of a photo model, trained after its coder."""
