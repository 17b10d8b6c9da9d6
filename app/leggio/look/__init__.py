"""How the window looks: colours for light and dark, symbols, and nothing else."""
