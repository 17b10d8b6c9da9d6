"""Documents and pages: what they are, the list that shows them, thumbnails made off the window's thread."""
