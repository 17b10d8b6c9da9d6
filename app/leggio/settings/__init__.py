"""Two tables of fields: how pages are read (`uocr.ReadSettings`), how the window behaves (`WindowSettings`).

The dialog, the stored file and the command-line flags are all made from the tables.
"""
