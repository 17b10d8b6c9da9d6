"""The text on the right: written block by block as it streams, linked with the page, searched and corrected.

Nothing in a document is interpreted: text goes in as text, tables as Qt's own tables, formulas and pictures
as images made here. No markup of a document reaches an HTML parser, and the view fetches no resource it was
not handed.
"""
