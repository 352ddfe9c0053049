"""One head, positive definite symmetric part, no ties: a token that never converges. The finite part of the proof.

docs/paper.md, Theorem 14, has the construction: eight groups of twelve corners (two hexagons each) that spiral to 0 in
the second plane, by M = rho + (1-rho) e^{i pi/3} per layer, and a token z that comes to one group after the other. In
the frame that turns and shrinks with the hexagons (y / M^k) the corners stand still, and z moves by
y -> (rho y + (1-rho) t) / M, t the corner with the largest score, a contraction by rho/|M| as long as t is the same.
`check` proves, in rational arithmetic and with disks instead of points, that for every group i

1. every corner prefers its own next corner to all others of groups i and i+1;
2. a list of disks is carried round, each into the next, when z follows corners of group i (one best corner per disk);
3. from every disk where some point prefers group i+1, z moves, following corners of group i+1, into a disk of group
   i+1; and there is a disk all of whose points prefer group i+1;
4. on all these ways no corner of the group, or of the one before, prefers z, and z does not prefer itself.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

from hardmax.experiments.claims.definition import follow_sets


class Number(NamedTuple):
    """x + y w with w = e^{2 pi i/3}: a point of the second plane.

    Example:
        >>> SIXTH * SIXTH == Number(0, 1)
        True
    """

    x: Fraction
    y: Fraction

    def __add__(self, other: Any) -> "Number":
        return Number(self.x + other.x, self.y + other.y)

    def __sub__(self, other: Any) -> "Number":
        return Number(self.x - other.x, self.y - other.y)

    def __mul__(self, other: Any) -> "Number":  # w^2 = -1 - w
        x, y = other if isinstance(other, Number) else (other, 0)
        return Number(self.x * x - self.y * y, self.x * y + self.y * x - self.y * y)


Disk = tuple[Number, Fraction]

ALPHA = Fraction(2, 5)
TURN = Number(Fraction(11), Fraction(17))  # the scores of the second plane: Re(conj(TURN y) t)
RADIUS = Fraction(1, 2)
START = Fraction(9, 20)  # of a corner: from there z comes to its orbit, and not to a corner
GRID = 1 << 24  # centers of disks are rounded to multiples of 1/GRID, and the radius takes the difference
MOST_STEPS = 200
SIXTH = Number(Fraction(1), Fraction(1))  # e^{i pi/3} = 1 + w
# The first corners of the two hexagons of each group.
GROUPS: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = (
    ((1193, 407), (-508, 658)), ((1155, 254), (-367, 779)), ((1096, 97), (-218, 886)), ((1019, -61), (-67, 978)),
    ((924, -219), (86, 1053)), ((813, -373), (238, 1111)), ((689, -520), (385, 1149)), ((553, -659), (526, 1168)),
)  # fmt: skip
# The octagon of the first plane, up to a factor, and the matrix of its scores <ROUND v, x>.
OCTAGON = ((2, 0), (1, 2), (0, 2), (-2, 1), (-2, 0), (-1, -2), (0, -2), (2, -1))
ROUND = ((2, -1), (1, 2))


def dot(u: Number, v: Number) -> Fraction:
    """Re(conj(u) v), the inner product in the plane."""
    return u.x * v.x + u.y * v.y - (u.x * v.y + u.y * v.x) / 2


def inverse(u: Number) -> Number:
    """1 / u: the conjugate of x + y w is (x - y) - y w."""
    return Number(u.x - u.y, -u.y) * (1 / dot(u, u))


def length(u: Number) -> Fraction:
    """A number that is at least |u|, and larger by less than 2^-20."""
    square = dot(u, u)
    return Fraction(isqrt(square.numerator * (1 << 42) // square.denominator) + 1, 1 << 21)


RHO = 1 / (1 + ALPHA)
BACK = inverse(Number(RHO, Fraction(0)) + SIXTH * (1 - RHO))  # 1 / M
SHRINK = RHO * length(BACK)  # at least rho / |M|


def corners(group: int) -> list[Number]:
    """The 12 corners of a group, hexagon by hexagon; corner 6 h + m follows 6 h + (m+1) mod 6."""
    found = []
    for x, y in GROUPS[group % len(GROUPS)]:
        corner = Number(Fraction(x), Fraction(y))
        for _ in range(6):
            found.append(corner)
            corner = SIXTH * corner
    return found


def _next(j: int) -> int:
    return 6 * (j // 6) + (j + 1) % 6


def _argmax(y: Number, among: Sequence[Number]) -> int:
    seen = TURN * y
    return max(range(len(among)), key=lambda j: dot(seen, among[j]))


def best(disk: Disk, among: Sequence[Number]) -> int | None:
    """The corner with the largest score at every point of the disk; None if it depends on the point."""
    center, radius = disk
    seen, first = TURN * center, _argmax(center, among)
    away = [among[first] - t for j, t in enumerate(among) if j != first]
    return first if all(dot(seen, w) > radius * length(TURN) * length(w) for w in away) else None


def step(disk: Disk, corner: Number) -> Disk:
    """The disk that holds (rho y + (1-rho) corner) / M for every y of the disk."""
    center, radius = disk
    moved = BACK * (center * RHO + corner * (1 - RHO))
    rounded = Number(*(Fraction(round(x * GRID), GRID) for x in moved))
    return rounded, radius * SHRINK + Fraction(2, GRID)


def inside(disk: Disk, others: Sequence[Disk]) -> bool:
    """Whether a disk lies in one of the others, after a turn by a multiple of 60 degrees, which keeps every group."""
    center, radius = disk
    for _ in range(6):
        if any(length(center - other) + radius <= bound for other, bound in others):
            return True
        center = SIXTH * center
    return False


def lead(disk: Disk, here: Sequence[Number], there: Sequence[Number]) -> tuple[Fraction, Fraction]:
    """Bounds of the best score of one group minus that of the other, over the disk."""
    seen = TURN * disk[0]
    middle = dot(seen, there[_argmax(disk[0], there)] - here[_argmax(disk[0], here)])
    # Every score of a corner t changes by at most radius |TURN| |t|.
    slack = disk[1] * length(TURN) * sum(max(map(length, group)) for group in (there, here))
    return middle - slack, middle + slack


def orbit(group: int) -> list[Disk]:
    """Disks of one radius around the places of a point that has followed the corners of a group for long."""
    here = corners(group)
    center = here[0] * START
    for _ in range(MOST_STEPS):
        center = step((center, Fraction(0)), here[_argmax(center, here)])[0]
    disks: list[Disk] = []
    while not inside((center, RADIUS * SHRINK), disks) and len(disks) < MOST_STEPS:
        disks.append((center, RADIUS))
        center = step((center, Fraction(0)), here[_argmax(center, here)])[0]
    return disks


def undisturbed(disk: Disk, here: Sequence[Number], before: Sequence[Number]) -> bool:
    """Whether no corner prefers a point y of the disk to its own next corner, and y some corner to itself."""
    center, radius = disk
    for group in (here, before):
        for j, q in enumerate(group):
            seen = TURN * q
            if dot(seen, group[_next(j)] - center) <= radius * length(seen):
                return False
    away = here[_argmax(center, here)] - center
    # <TURN y, t - y> changes by at most radius |TURN| (|t - c| + |c| + radius).
    return dot(TURN * center, away) > radius * length(TURN) * (length(away) + length(center) + radius)


def check_octagon() -> Iterator[str]:
    """Violations in the first plane: v_i must score as high with v_{i+1} as with itself, and lower with all others."""
    for i, followed in enumerate(follow_sets(OCTAGON, ROUND)):
        if set(followed) != {i, (i + 1) % len(OCTAGON)}:
            yield f"corner {i} of the octagon scores highest with {list(followed)}"


def cloud(scale: int) -> tuple[list[tuple[Fraction, ...]], list[list[int]]]:
    """The 97 tokens and the matrix A: groups at the corners of the octagon times `scale`, then z on its way to v_0.

    Example:
        >>> tokens, A = cloud(10**5)
        >>> len(tokens), A
        (97, [[2, -1, 0, 0], [1, 2, 0, 0], [0, 0, 5, -28], [0, 0, 23, 5]])
    """
    p, q = (int(x) for x in TURN)
    A = [[*ROUND[0], 0, 0], [*ROUND[1], 0, 0], [0, 0, 2 * p - q, -p - q], [0, 0, 2 * q - p, 2 * p - q]]
    places = [(Fraction(scale * x), Fraction(scale * y)) for x, y in OCTAGON]
    tokens = [(*place, *corner) for i, place in enumerate(places) for corner in corners(i)]
    start = [RHO * a + (1 - RHO) * b for a, b in zip(places[-1], places[0], strict=True)]
    return [*tokens, (*start, *orbit(0)[0][0])], A


def check(groups: Sequence[int] = range(8)) -> Iterator[str]:
    """The violations of conditions 1 to 4 in some groups, as sentences; none if all conditions hold."""
    count = len(GROUPS)
    disks = {i: orbit(i) for i in {j % count for i in groups for j in (i, i + 1)}}
    for i in groups:
        before, here, there = corners(i - 1), corners(i), corners(i + 1)
        for j, q in enumerate(here):
            seen, own = TURN * q, _next(j)
            if any(dot(seen, here[own] - t) <= 0 for k, t in enumerate([*here, *there]) if k != own):
                yield f"group {i}: corner {j} does not follow its own next corner"
        leaves = False
        for number, disk in enumerate(disks[i]):
            followed = best(disk, here)
            if followed is None:
                yield f"group {i}: a disk of the orbit has no best corner"
                return
            if not inside(step(disk, here[followed]), [disks[i][(number + 1) % len(disks[i])]]):
                yield f"group {i}: a disk is not carried into the next"
            if not undisturbed(disk, here, before):
                yield f"group {i}: on the orbit a corner follows z, or z itself"
            low, high = lead(disk, here, there)
            leaves |= low > 0
            if high > 0:
                yield from _arrives(i + 1, disk, disks[(i + 1) % count])
        if not leaves:
            yield f"group {i}: z need not move on"


def _arrives(group: int, disk: Disk, orbit_there: Sequence[Disk]) -> Iterator[str]:
    """Whether z comes from a disk of the group before into a disk of this one, and disturbs nobody on its way."""
    here, before = corners(group), corners(group - 1)
    for _ in range(MOST_STEPS):
        followed = best(disk, here)
        if followed is None:
            yield f"group {group}: a disk on the way in has no best corner"
            return
        disk = step(disk, here[followed])
        if inside(disk, orbit_there):
            return
        if not undisturbed(disk, here, before):
            yield f"group {group}: on the way in a corner follows z, or z itself"
    yield f"group {group}: z does not come to the orbit"
