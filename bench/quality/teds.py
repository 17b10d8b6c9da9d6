"""TEDS: how alike two tables are, as trees of rows and cells.

Similarity = 1 - edit distance / size of the larger tree (Zhong, ShafieiBavani, Jimeno Yepes: "Image-based table
recognition: data, model, and evaluation", ECCV 2020). Inserting, deleting or renaming a node costs 1; two cells of
equal spans cost the normalised edit distance of their texts. Trees are ordered; the distance is Zhang and Shasha's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np
from rapidfuzz.distance import Levenshtein

_CELLS = ("td", "th")


@dataclass
class Node:
    """`tag` with spans for a cell ("td 1 2"); text only in cells. Header cells count as cells."""

    tag: str
    text: str = ""
    children: list[Node] = field(default_factory=list)


class _Reader(HTMLParser):
    """Takes the first table of a text apart; everything but table, rows and cells is passed over."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.table: Node | None = None
        self.row: Node | None = None
        self.cell: Node | None = None
        self.done = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.done:
            return
        if tag == "table" and self.table is None:
            self.table = Node("table")
        elif tag == "tr" and self.table is not None:
            self.row, self.cell = Node("tr"), None
            self.table.children.append(self.row)
        elif tag in _CELLS and self.row is not None:
            spans = dict(attrs)
            self.cell = Node(f"cell {spans.get('rowspan') or 1} {spans.get('colspan') or 1}")
            self.row.children.append(self.cell)
        elif tag == "br" and self.cell is not None:
            self.cell.text += " "

    def handle_endtag(self, tag: str) -> None:
        if tag in _CELLS:
            self.cell = None
        elif tag == "table" and self.table is not None:
            self.done = True

    def handle_data(self, data: str) -> None:
        if self.cell is not None and not self.done:
            self.cell.text += data


def tree(markup: str) -> Node | None:
    """The first table of a text, None when it has none."""
    reader = _Reader()
    reader.feed(markup)
    return reader.table


@dataclass
class _Ordered:
    """A tree in post order: nodes, the leftmost leaf below each, and the roots of Zhang and Shasha."""

    nodes: list[Node] = field(default_factory=list)
    leftmost: list[int] = field(default_factory=list)

    def add(self, node: Node) -> int:
        first = None
        for child in node.children:
            index = self.add(child)
            first = self.leftmost[index] if first is None else first
        self.nodes.append(node)
        self.leftmost.append(len(self.nodes) - 1 if first is None else first)
        return len(self.nodes) - 1

    def roots(self) -> list[int]:
        highest = {left: index for index, left in enumerate(self.leftmost)}
        return sorted(highest.values())


def _rename(a: Node, b: Node) -> float:
    if a.tag != b.tag:
        return 1.0
    if not a.tag.startswith("cell"):
        return 0.0
    return Levenshtein.normalized_distance(" ".join(a.text.split()), " ".join(b.text.split()))


def edit_distance(a: Node, b: Node) -> float:
    """Least cost of turning tree `a` into tree `b`."""
    one, two = _Ordered(), _Ordered()
    one.add(a)
    two.add(b)
    costs = np.array([[_rename(x, y) for y in two.nodes] for x in one.nodes])
    whole = np.zeros((len(one.nodes), len(two.nodes)))
    for i in one.roots():
        for j in two.roots():
            _subtree(i, j, one.leftmost, two.leftmost, costs, whole)
    return float(whole[-1, -1])


def _subtree(i: int, j: int, left_a: list[int], left_b: list[int], costs: np.ndarray, whole: np.ndarray) -> None:
    """Fill `whole` for all pairs of nodes on the leftmost paths of i and j."""
    start_a, start_b = left_a[i], left_b[j]
    rows, columns = i - start_a + 2, j - start_b + 2
    forest = np.zeros((rows, columns))
    forest[:, 0], forest[0] = np.arange(rows), np.arange(columns)
    for x in range(1, rows):
        node_a = start_a + x - 1
        for y in range(1, columns):
            node_b = start_b + y - 1
            skip = min(forest[x - 1, y], forest[x, y - 1]) + 1
            if left_a[node_a] == start_a and left_b[node_b] == start_b:
                forest[x, y] = min(skip, forest[x - 1, y - 1] + costs[node_a, node_b])
                whole[node_a, node_b] = forest[x, y]
            else:
                before = forest[left_a[node_a] - start_a, left_b[node_b] - start_b]
                forest[x, y] = min(skip, before + whole[node_a, node_b])


def _size(node: Node) -> int:
    return 1 + sum(_size(child) for child in node.children)


def similarity(read: str, truth: str) -> float:
    """TEDS of the first tables of two texts, 0..1; 0 when the reading has none. Raises ValueError without truth."""
    wanted, found = tree(truth), tree(read)
    if wanted is None:
        raise ValueError("the truth holds no table")
    if found is None:
        return 0.0
    return max(0.0, 1 - edit_distance(found, wanted) / max(_size(found), _size(wanted)))
