"""Functions to functions: the Laplace layer, LNO, DeepONet."""
