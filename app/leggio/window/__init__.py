"""The main window: puts the capabilities side by side and connects them."""
