"""The two pages, their figures and packages."""
