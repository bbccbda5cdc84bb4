from __future__ import annotations

from migrate.opmap import list_targets, load_target


def test_every_figure_has_a_source():
    for name in list_targets():
        figures = load_target(name).figures()
        assert {"memory.bytes", "memory.bandwidth", "launch_seconds", "links.host.bandwidth"} <= figures.keys()
        assert all(figure.source for figure in figures.values())


def test_a_dtype_without_a_rate_is_taken_at_that_of_float32():
    target = load_target("vendor_a")
    assert target.peak_flops("float16") == 353.9e12
    assert target.peak_flops("float64") == target.peak_flops("float32") == 88.5e12
