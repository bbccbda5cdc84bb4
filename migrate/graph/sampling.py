"""The values at which free sizes are sampled, whatever frontend asks. Knows no file format."""

from __future__ import annotations

Sample = tuple[int, int, int]


def _multiples(*factors: Sample) -> tuple[Sample, ...]:
    return tuple((32 * a, 32 * b, 32 * c) for a, b, c in factors)


# No two triples, the batch among them, are multiples of one another: halving one size again and again never gives another.
# The batch goes down and up while all others rise, and what strides, kernels and padding make of them rises with them. None
# of its numbers is a batch of the verification (2, 3, 5), so that whatever agreed with it by chance does not there.
BATCH = (11, 7, 9)
FREE = _multiples((2, 4, 7), (3, 5, 11), (2, 5, 6), (3, 4, 10), (2, 7, 9))
UNEVEN = (
    (64, 101, 211),
    (96, 131, 173),
    (64, 149, 187),
    (96, 127, 199),
    (64, 113, 229),
)  # the first is a package's default
SMALL = ((7, 12, 19), (11, 16, 27), (9, 14, 23), (10, 17, 13), (8, 15, 22))  # tables of positions may be short
LARGE = _multiples((7, 8, 10), (8, 11, 12), (9, 11, 13), (10, 13, 15), (12, 17, 19))
FIXED = (48, 32, 64, 224, 320, 16, 8)
