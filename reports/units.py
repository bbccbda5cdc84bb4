"""Numbers as people read them: durations, bytes, counts, errors, shapes. Knows nothing of reports."""

from __future__ import annotations

import math

DURATIONS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
BINARY_PREFIXES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def significant(value: float, digits: int = 3) -> str:
    """A positive number below 10000 with so many significant digits and no exponent."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def duration(seconds: float) -> str:
    """`12.3 us`, `4.56 ms`; below a nanosecond `0 ns`."""
    if not math.isfinite(seconds):
        return str(seconds)
    for scale, unit in DURATIONS:
        if seconds >= scale:
            return f"{significant(seconds / scale)} {unit}"
    return "0 ns"


def byte_size(count: int) -> str:
    """`512 B`, `44.7 MiB`: binary multiples, as memory is sold and measured in."""
    size, prefixes = float(count), iter(BINARY_PREFIXES)
    prefix = next(prefixes)
    while size >= 1024 and prefix != BINARY_PREFIXES[-1]:
        size, prefix = size / 1024, next(prefixes)
    return f"{count} B" if prefix == "B" else f"{significant(size)} {prefix}"


def rate(per_second: float) -> str:
    """A rate with three significant digits, or all digits before the point where there are more."""
    return significant(per_second) if math.isfinite(per_second) else str(per_second)


def number(count: int) -> str:
    """`25,557,032`."""
    return f"{count:,}"


def plural(count: int, noun: str, many: str = "") -> str:
    """`1 tensor`, `3 tensors`; `many` is the plural where it is not the noun with an s."""
    return f"{number(count)} {noun if count == 1 else many or noun + 's'}"


def error(value: float | None) -> str:
    """`3.1e-07`, `0`, `nan`; a dash where there is no number."""
    if value is None:
        return "-"
    return "0" if value == 0 else f"{value:.1e}"


def percent(part: float, whole: float) -> str:
    """`34 %`, `0.4 %`; a dash of nothing."""
    if whole <= 0:
        return "-"
    value = 100 * part / whole
    return f"{value:.0f} %" if value >= 1 or value == 0 else f"{value:.1f} %"


def shape(dims: tuple[int | str, ...]) -> str:
    """`[batch, 3, 224, 224]`; `[]` for a scalar."""
    return f"[{', '.join(str(d) for d in dims)}]"
