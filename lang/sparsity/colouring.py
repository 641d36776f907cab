"""Colourings of sparse matrices: which columns, rows or variables can share one sweep of differentiation.

Columns of one colour have no row in common, so one tangent along their sum gives the entries of all of them (Curtis, Powell &
Reid, "On the estimation of sparse Jacobian matrices", IMA Journal of Applied Mathematics 13, 1974). For a symmetric
matrix less is enough: of the two places where an entry stands one has to be alone with its colour (Powell & Toint 1979; as
star colouring, Coleman & Moré, "Estimation of sparse Hessian matrices and graph coloring problems", Mathematical
Programming 28, 1984). The survey is Gebremedhin, Manne & Pothen, "What color is your Jacobian?", SIAM Review 47, 2005.

Fewest colours is NP-hard; these are the greedy methods of the survey. A set of colours is an integer with a bit for each,
so a step costs a few machine words even where a row is dense. The order decides how good a greedy colouring is: the order
given is best on grids and bands as people number them, smallest-last on everything else, so both are tried. Each
result depends on the pattern alone. (Written here because SciPy has only the one-sided kind, and ColPack is C++.)
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from adcli.lang.sparsity.sparsity import Pattern, transposed

ORDERING_EFFORT = 10_000_000
"""Pairs of columns in a row, over all rows, up to which an order is looked for: about a second."""


def column_colours(pattern: Pattern, columns: int) -> list[int]:
    """A colour, from 0, for every column; two columns of one colour never have an entry in the same row.

    There are never fewer colours than entries in the longest row. Greedy partial distance-2 colouring, as the survey has it,
    with an order of Coleman & Moré, "Estimation of sparse Jacobian matrices and graph coloring problems", SIAM Journal on
    Numerical Analysis 20, 1983.
    """
    longest = max(map(len, pattern), default=0)
    rows_of = transposed(pattern, columns)
    colours = _columns_in_order(rows_of, len(pattern), range(columns))
    if _most(colours) < longest or sum(len(row) ** 2 for row in pattern) > ORDERING_EFFORT:
        return colours
    order = smallest_last(columns, lambda j: set().union(*[pattern[i] for i in rows_of[j]]))
    return min(colours, _columns_in_order(rows_of, len(pattern), order), key=_most)


def row_colours(pattern: Pattern, columns: int) -> list[int]:
    """A colour for every row; two rows of one colour never have an entry in the same column."""
    return column_colours(transposed(pattern, columns), len(pattern))


def star_colours(pattern: Pattern) -> list[int]:
    """A colour for every variable of a symmetric pattern, whose diagonal counts as present.

    Neighbours differ, and no path of four variables has only two colours; then every entry can be read off the product of
    the matrix with the colours' indicator vectors: see `star_reads`. A colouring of columns is one too, and now and then
    the smaller.
    """
    whole = tuple([row if i in row else tuple(sorted((i, *row))) for i, row in enumerate(pattern)])
    order = smallest_last(len(whole), whole.__getitem__)
    found = (_Stars(whole).coloured(range(len(whole))), _Stars(whole).coloured(order), column_colours(whole, len(whole)))
    return min(found, key=_most)


def star_reads(pattern: Pattern, colours: Sequence[int]) -> dict[tuple[int, int], tuple[int, int]]:
    """For every entry i ≤ j of a symmetric pattern the row and the colour of the compressed product where it stands alone:
    (i, colours[j]) or (j, colours[i])."""
    held = [Counter([colours[j] for j in row]) for row in pattern]
    reads = {}
    for i, row in enumerate(pattern):
        for j in row:
            if i <= j:
                place = (i, colours[j]) if held[i][colours[j]] == 1 else (j, colours[i])
                assert held[place[0]][place[1]] == 1, f"entry ({i}, {j}) is alone nowhere: no star colouring"
                reads[i, j] = place
    return reads


def _columns_in_order(rows_of: Pattern, rows: int, order: Iterable[int]) -> list[int]:
    """The smallest colour for each column in turn that none of its rows has yet."""
    used = [0] * rows
    colours = [0] * len(rows_of)
    for j in order:
        forbidden = 0
        for i in rows_of[j]:
            forbidden |= used[i]
        own = _lowest_free(forbidden)
        colours[j] = _number(own)
        for i in rows_of[j]:
            used[i] |= own
    return colours


class _Stars:
    """A star colouring as it grows, one variable at a time.

    Which paths of two colours a new variable could close is known from its neighbours alone. Every variable keeps the
    colours `near` it and, as long as only one neighbour has a colour, which one. `closed` are the colours that would make a
    new neighbour the end of a path of two colours: those of neighbours that have a further neighbour of the variable's own
    colour. (Two-coloured stars are kept for the same end by Gebremedhin, Tarafdar, Manne & Pothen, "New acyclic and star
    coloring algorithms with application to computing Hessians", SIAM Journal on Scientific Computing 29, 2007.)
    """

    def __init__(self, pattern: Pattern) -> None:
        n = len(pattern)
        self.pattern = pattern
        self.own, self.near, self.closed = [0] * n, [0] * n, [0] * n
        self.only: list[dict[int, int]] = [{} for _ in range(n)]

    def coloured(self, order: Iterable[int]) -> list[int]:
        for v in order:
            self.colour(v, [w for w in self.pattern[v] if w != v])
        return list(map(_number, self.own))

    def colour(self, v: int, neighbours: list[int]) -> None:
        """Give v the smallest colour that no neighbour has, that ends no path of two colours at v, and that lies inside of
        none: where neighbours share a colour, theirs must not be near them."""
        once = twice = forbidden = 0
        for w in neighbours:
            twice |= once & self.own[w]
            once |= self.own[w]
            forbidden |= self.own[w] | self.closed[w]
        for w in neighbours if twice else ():
            if self.own[w] & twice:
                forbidden |= self.near[w]
        self.own[v] = _lowest_free(forbidden)
        for w in neighbours:
            if self.own[w] & twice:
                self.closed[w] |= self.own[v]
            self.tell(v, w)

    def tell(self, v: int, w: int) -> None:
        """Let the neighbour w know what colour v has got."""
        own = self.own[v]
        if not self.near[w] & own:
            self.near[w] |= own
            self.only[w][own] = v
            return
        self.closed[v] |= self.own[w]
        other = self.only[w].pop(own, None)
        if other is not None:
            self.closed[other] |= self.own[w]


def smallest_last(vertices: int, neighbours: Callable[[int], Collection[int]]) -> list[int]:
    """The vertices of a graph in an order that gives each few neighbours among those before it: the last has the fewest
    of all, the one before it the fewest once the last is gone, and so on.

    Linear in the edges (Matula & Beck, "Smallest-last ordering and clustering and graph coloring algorithms", Journal of
    the ACM 30, 1983).
    """
    degree = [len(neighbours(v)) for v in range(vertices)]
    buckets: list[list[int]] = [[] for _ in range(max(degree, default=0) + 1)]
    for v, d in enumerate(degree):
        buckets[d].append(v)
    order: list[int] = []
    lowest = 0
    while len(order) < vertices:
        while not buckets[lowest]:
            lowest += 1
        v = buckets[lowest].pop()
        if degree[v] != lowest:   # it has moved to another bucket, or is in the order already
            continue
        order.append(v)
        degree[v] = -1
        for w in neighbours(v):
            if degree[w] > 0:
                degree[w] -= 1
                buckets[degree[w]].append(w)
        lowest = max(lowest - 1, 0)
    order.reverse()
    return order


def _lowest_free(taken: int) -> int:
    """The smallest colour that is not taken, as a set."""
    return ~taken & (taken + 1)


def _number(own: int) -> int:
    """The number of the colour that is alone in a set."""
    return own.bit_length() - 1


def _most(colours: Sequence[int]) -> int:
    """The largest colour, which says how many there are."""
    return max(colours, default=0)
