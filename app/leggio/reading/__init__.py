"""Reading: the engine's own thread, its events gathered into frames, and the queue of pages.

`task` says what to read, `engine` owns the `UnlimitedOCR` on one thread, `frames` makes about 30 messages a
second out of however many events there are, `session` keeps the waiting pages and carries results to the
model. No widgets here.
"""
