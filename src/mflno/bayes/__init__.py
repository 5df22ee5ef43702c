"""Parameters to draws: Langevin steps, replica ladders, collection, diagnosis, bands."""
