"""Model packages: manifest, tables, networks in int8."""
