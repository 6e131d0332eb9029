"""The frozen coder on whole photos: coded once, then cut anywhere."""
