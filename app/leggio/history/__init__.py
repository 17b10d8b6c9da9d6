"""What was read before, and what was being read when the program ended: nothing that was read is lost."""
