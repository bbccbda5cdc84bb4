"""Cutting a long run of calls into modules by position, where few values are alive and where the same comes again.

Knows no names and no text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

MAX_CALLS = 24  # per module, so that a forward fits on a screen
MAX_PARTS = 16
_SHORT = 6
_CALL, _CLASS = 1.0, 2.0  # what there is to read in a call of a part, and in a class beyond its own calls


def live_values(makes: Sequence[set[int]], uses: Sequence[set[int]], kept: set[int]) -> list[int]:
    """For each gap after unit i, how many values made at or before it are used after it; `kept` are used at the end."""
    alive: set[int] = set(kept)
    counts = [0] * len(makes)
    for i in range(len(makes) - 1, -1, -1):
        counts[i] = len(alive)
        alive -= makes[i]
        alive |= uses[i]
    return counts


def longest_part(n: int) -> int:
    """How many units a part may have."""
    return max(MAX_CALLS, -(-n // MAX_PARTS))


def cut(live: Sequence[int], marks: Sequence[Sequence[Hashable]]) -> list[tuple[int, int]]:
    """Split units 0..n-1 into consecutive parts (start, stop).

    The fewer values cross a border the better, and the fewer calls there are to read, where parts with the same mark are
    read once: `marks[start][k]` is that of the k + 1 units from `start` on.
    """
    n = len(live)
    shortest = min(_SHORT, longest_part(n) // 3)
    times = _repeats(marks)
    best: list[tuple[float, int]] = [(0.0, 0)] + [(float("inf"), 0)] * n
    for stop in range(1, n + 1):
        border = 0.0 if stop == n else 4.0 * max(0, live[stop - 1] - 1)
        for start in range(max(0, stop - longest_part(n)), stop):
            count = times[marks[start][stop - start - 1]]
            short = max(0, shortest - (stop - start)) if count == 1 else 0
            cost = best[start][0] + border + 2.0 * short + _CALL + (_CLASS + stop - start) / count
            if cost < best[stop][0]:
                best[stop] = (cost, start)
    parts: list[tuple[int, int]] = []
    stop = n
    while stop:
        start = best[stop][1]
        parts.append((start, stop))
        stop = start
    return parts[::-1]


def _repeats(marks: Sequence[Sequence[Hashable]]) -> Counter[Hashable]:
    """How often each run comes, without overlaps."""
    times: Counter[Hashable] = Counter()
    free: dict[Hashable, int] = {}
    for start, runs in enumerate(marks):
        for length, mark in enumerate(runs, 1):
            if free.get(mark, 0) <= start:
                times[mark] += 1
                free[mark] = start + length
    return times
