"""Cutting a long run of calls into modules by position, where few values are alive. Knows no names and no text."""

from __future__ import annotations

from collections.abc import Sequence

MAX_CALLS = 24  # per module, so that a forward fits on a screen
MAX_PARTS = 16
_SHORT = 6


def live_values(makes: Sequence[set[int]], uses: Sequence[set[int]], kept: set[int]) -> list[int]:
    """For each gap after unit i, how many values made at or before it are used after it; `kept` are used at the end."""
    alive: set[int] = set(kept)
    counts = [0] * len(makes)
    for i in range(len(makes) - 1, -1, -1):
        counts[i] = len(alive)
        alive -= makes[i]
        alive |= uses[i]
    return counts


def cut(live: Sequence[int]) -> list[tuple[int, int]]:
    """Split units 0..n-1 into consecutive parts (start, stop); the fewer values cross a border, the better."""
    n = len(live)
    longest = max(MAX_CALLS, -(-n // MAX_PARTS))
    shortest = min(_SHORT, longest // 3)
    best: list[tuple[float, int]] = [(0.0, 0)] + [(float("inf"), 0)] * n
    for stop in range(1, n + 1):
        border = 0.0 if stop == n else 4.0 * max(0, live[stop - 1] - 1)
        for start in range(max(0, stop - longest), stop):
            short = max(0, shortest - (stop - start))
            cost = best[start][0] + border + 3.0 + 2.0 * short
            if cost < best[stop][0]:
                best[stop] = (cost, start)
    parts: list[tuple[int, int]] = []
    stop = n
    while stop:
        start = best[stop][1]
        parts.append((start, stop))
        stop = start
    return parts[::-1]
