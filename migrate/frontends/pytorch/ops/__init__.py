"""How ATen operators are read: one file per op family, one function per operator that is not an op of the graph by itself."""
