"""One head, positive definite symmetric part, no ties: a token that never converges. The finite part of the proof.

The construction (docs/paper.md, Theorem 14) lives in two planes. In the first one, eight points v_0..v_7 form an
octagon such that v_i scores as high with v_{i+1} as with itself, and lower with all others. At each v_i there is a
*group* of 12 tokens: in the second plane, two hexagons around 0 whose corners follow their own next corners and spiral
to 0, by M = rho + (1-rho) e^{i pi/3} per layer. One more token z is drawn to v_i, and in the second plane it never
settles at a corner. Its distance to v_i falls faster than the square of the hexagons' size, so that it is at last drawn
to a corner of group i+1, and moves on to v_{i+1}, and so on forever.

In the frame that turns and shrinks with the hexagons (y / M^k) the corners stand still, and z moves by
y -> (rho y + (1-rho) t) / M, t the corner with the largest score, a contraction by rho/|M| as long as t is the same.
`check` proves, in rational arithmetic and with disks instead of points, that for every group i

1. every corner prefers its own next corner to all others of groups i and i+1;
2. a list of disks is carried round, each into the next, when z follows corners of group i (one best corner per disk);
3. from every disk where some point prefers group i+1, z moves, following corners of group i+1, into a disk of group
   i+1; and there is a disk all of whose points prefer group i+1;
4. on all these ways no corner of the group, or of the one before, prefers z, and z does not prefer itself.

Numbers of the second plane are x + y w with w = e^{2 pi i/3}, as pairs of Fractions.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isqrt

Number = tuple[Fraction, Fraction]
Disk = tuple[Number, Fraction]

ALPHA = Fraction(2, 5)
TURN: Number = (Fraction(11), Fraction(17))  # the scores of the second plane: Re(conj(TURN y) t)
RADIUS = Fraction(1, 2)
START = Fraction(9, 20)  # of a corner: from there z comes to its orbit, and not to a corner
GRID = 1 << 24  # centers of disks are rounded to multiples of 1/GRID, and the radius takes the difference
MOST_STEPS = 200
ZERO: Number = (Fraction(0), Fraction(0))
SIXTH: Number = (Fraction(1), Fraction(1))  # e^{i pi/3} = 1 + w
# The first corners of the two hexagons of each group.
GROUPS: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = (
    ((1193, 407), (-508, 658)), ((1155, 254), (-367, 779)), ((1096, 97), (-218, 886)), ((1019, -61), (-67, 978)),
    ((924, -219), (86, 1053)), ((813, -373), (238, 1111)), ((689, -520), (385, 1149)), ((553, -659), (526, 1168)),
)  # fmt: skip
# The octagon of the first plane, up to a factor, and the matrix of its scores <ROUND v, x>.
OCTAGON = ((2, 0), (1, 2), (0, 2), (-2, 1), (-2, 0), (-1, -2), (0, -2), (2, -1))
ROUND = ((2, -1), (1, 2))


def plus(u: Number, v: Number) -> Number:
    """u + v."""
    return u[0] + v[0], u[1] + v[1]


def minus(u: Number, v: Number) -> Number:
    """u - v."""
    return u[0] - v[0], u[1] - v[1]


def times(u: Number, v: Number) -> Number:
    """u v, with w^2 = -1 - w.

    Example:
        >>> times(SIXTH, SIXTH) == (0, 1)
        True
    """
    return u[0] * v[0] - u[1] * v[1], u[0] * v[1] + u[1] * v[0] - u[1] * v[1]


def dot(u: Number, v: Number) -> Fraction:
    """Re(conj(u) v), the inner product in the plane."""
    return u[0] * v[0] + u[1] * v[1] - (u[0] * v[1] + u[1] * v[0]) / 2


def inverse(u: Number) -> Number:
    """1 / u: the conjugate of x + y w is (x - y) - y w."""
    size = dot(u, u)
    return (u[0] - u[1]) / size, -u[1] / size


def length(u: Number) -> Fraction:
    """A number that is at least |u|, and larger by less than 2^-20."""
    square = dot(u, u)
    return Fraction(isqrt(square.numerator * (1 << 42) // square.denominator) + 1, 1 << 21)


RHO = 1 / (1 + ALPHA)
BACK = inverse(plus((RHO, Fraction(0)), (SIXTH[0] * (1 - RHO), SIXTH[1] * (1 - RHO))))  # 1 / M
SHRINK = RHO * length(BACK)  # at least rho / |M|


def corners(group: int) -> list[Number]:
    """The 12 corners of a group, hexagon by hexagon; corner 6 h + m follows 6 h + (m+1) mod 6."""
    found = []
    for x, y in GROUPS[group % len(GROUPS)]:
        corner: Number = (Fraction(x), Fraction(y))
        for _ in range(6):
            found.append(corner)
            corner = times(SIXTH, corner)
    return found


def best(disk: Disk, among: Sequence[Number]) -> int | None:
    """The corner with the largest score at every point of the disk; None if it depends on the point."""
    center, radius = disk
    seen = times(TURN, center)
    first = max(range(len(among)), key=lambda j: dot(seen, among[j]))
    for j, t in enumerate(among):
        away = minus(among[first], t)
        if j != first and dot(seen, away) <= radius * length(TURN) * length(away):
            return None
    return first


def step(disk: Disk, corner: Number) -> Disk:
    """The disk that holds (rho y + (1-rho) corner) / M for every y of the disk."""
    center, radius = disk
    moved = times(BACK, plus((RHO * center[0], RHO * center[1]), ((1 - RHO) * corner[0], (1 - RHO) * corner[1])))
    rounded = tuple(Fraction(round(x * GRID), GRID) for x in moved)
    return (rounded[0], rounded[1]), radius * SHRINK + Fraction(2, GRID)


def inside(disk: Disk, others: Sequence[Disk]) -> bool:
    """Whether a disk lies in one of the others, after a turn by a multiple of 60 degrees, which keeps every group."""
    center, radius = disk
    for _ in range(6):
        if any(length(minus(center, other)) + radius <= bound for other, bound in others):
            return True
        center = times(SIXTH, center)
    return False


def lead(disk: Disk, here: Sequence[Number], there: Sequence[Number]) -> tuple[Fraction, Fraction]:
    """Bounds of the best score of one group minus that of the other, over the disk."""
    seen = times(TURN, disk[0])
    tops = [max(group, key=lambda t: dot(seen, t)) for group in (there, here)]
    middle = dot(seen, minus(*tops))
    # Every score of a corner t changes by at most radius |TURN| |t|.
    slack = disk[1] * length(TURN) * sum(max(map(length, group)) for group in (there, here))
    return middle - slack, middle + slack


def orbit(group: int) -> list[Disk]:
    """Disks of one radius around the places of a point that has followed the corners of a group for long."""
    here = corners(group)
    center: Number = (START * here[0][0], START * here[0][1])
    for _ in range(MOST_STEPS):
        center = step((center, Fraction(0)), here[_argmax(center, here)])[0]
    disks: list[Disk] = []
    while not inside((center, RADIUS * SHRINK), disks) and len(disks) < MOST_STEPS:
        disks.append((center, RADIUS))
        center = step((center, Fraction(0)), here[_argmax(center, here)])[0]
    return disks


def _argmax(y: Number, among: Sequence[Number]) -> int:
    seen = times(TURN, y)
    return max(range(len(among)), key=lambda j: dot(seen, among[j]))


def quiet(disk: Disk, groups: Sequence[Sequence[Number]]) -> bool:
    """Whether no corner of the groups prefers a point of the disk to its own next corner."""
    center, radius = disk
    for group in groups:
        for j, q in enumerate(group):
            seen = times(TURN, q)
            following = group[6 * (j // 6) + (j + 1) % 6]
            if dot(seen, minus(following, center)) <= radius * length(seen):
                return False
    return True


def not_itself(disk: Disk, here: Sequence[Number]) -> bool:
    """Whether every point y of the disk scores higher with some corner than with itself."""
    center, radius = disk
    away = minus(here[_argmax(center, here)], center)
    # <TURN y, t - y> changes by at most radius |TURN| (|t - c| + |c| + radius).
    slack = radius * length(TURN) * (length(away) + length(center) + radius)
    return dot(times(TURN, center), away) > slack


def check_octagon() -> Iterator[str]:
    """What is not so in the first plane: v_i scores as high with v_{i+1} as with itself, and lower with all others."""
    for i, (x, y) in enumerate(OCTAGON):
        seen = (ROUND[0][0] * x + ROUND[0][1] * y, ROUND[1][0] * x + ROUND[1][1] * y)
        scores = [seen[0] * a + seen[1] * b for a, b in OCTAGON]
        best_two = {j for j, score in enumerate(scores) if score == max(scores)}
        if best_two != {i, (i + 1) % len(OCTAGON)}:
            yield f"corner {i} of the octagon scores highest with {sorted(best_two)}"


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
    """What is not so in conditions 1 to 4 for some groups, as sentences; nothing if all of them hold."""
    count = len(GROUPS)
    needed = {j % count for i in groups for j in (i, i + 1)}
    disks = {i: orbit(i) for i in needed}
    for i in groups:
        before, here, there = corners(i - 1), corners(i), corners(i + 1)
        for j, q in enumerate(here):
            own = 6 * (j // 6) + (j + 1) % 6
            seen = times(TURN, q)
            if any(dot(seen, minus(here[own], t)) <= 0 for k, t in enumerate([*here, *there]) if k != own):
                yield f"group {i}: corner {j} does not follow its own next corner"
        leaves = False
        for number, disk in enumerate(disks[i]):
            followed = best(disk, here)
            if followed is None:
                yield f"group {i}: a disk of the orbit has no best corner"
                return
            if not inside(step(disk, here[followed]), [disks[i][(number + 1) % len(disks[i])]]):
                yield f"group {i}: a disk is not carried into the next"
            if not quiet(disk, (here, before)) or not not_itself(disk, here):
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
        if not quiet(disk, (here, before)) or not not_itself(disk, here):
            yield f"group {group}: on the way in a corner follows z, or z itself"
    yield f"group {group}: z does not come to the orbit"
