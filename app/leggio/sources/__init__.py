"""Ways in: files and folders dropped, pasted, opened, handed over by the system or by a second start."""
