"""Resize and Upsample by every rule, exact or refused; where torch has the rule it is torch's own call."""

import pytest

from migrate.errors import MigrateError
from migrate.frontends.onnx import load_onnx
from tests.migrate.frontends.onnx.ops.cases import Case, check, f32, graph_of, ints, x
from tests.onnx_files import build, node

X = x(2, 3, 5, 6)
COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
HALVES = ("half_pixel", "pytorch_half_pixel", "asymmetric")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def scaled(mode: str, coordinates: str, *scales: float, **more: object) -> Case:
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, **more.pop("attributes", {})}
    opset = {"opset": 19, "constants": (2,), **more}
    return Case(
        op="Resize",
        inputs=(X, None, f32(1, 1, *scales)),
        attributes=attributes,
        note=f"{attributes}{scales}{more}",
        **opset,
    )


def sized(mode: str, coordinates: str, *sizes: int, **more: object) -> Case:
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, **more.pop("attributes", {})}
    opset = {"opset": 19, "constants": (3,), **more}
    return Case(
        op="Resize",
        inputs=(X, None, None, ints(2, 3, *sizes)),
        attributes=attributes,
        note=f"{attributes}{sizes}{more}",
        **opset,
    )


def grid(mode: str, padding: str, aligned: int, opset: int = 20) -> Case:
    attributes = {"mode": mode, "padding_mode": padding, "align_corners": aligned}
    places = x(2, 4, 3, 2, seed=1)
    return Case(op="GridSample", inputs=(X, places), attributes=attributes, opset=opset, gradcheck=mode != "nearest")


MODES = ("nearest", "linear", "cubic")
CASES = [
    *(grid(m, p, a) for m in MODES for p in ("zeros", "border", "reflection") for a in (0, 1)),
    grid("bilinear", "zeros", 0, opset=16),
    *(
        Case(
            op="AffineGrid",
            inputs=(x(2, len(sizes), len(sizes) + 1), ints(2, 3, *sizes)),
            constants=(1,),
            attributes={"align_corners": aligned},
            opset=20,
            engine="reference",
            note=f"{sizes} {aligned}",
        )
        for sizes in ((4, 5), (2, 4, 3))
        for aligned in (0, 1)
    ),
    *(
        scaled("nearest", c, *s, attributes={"nearest_mode": n})
        for c in HALVES
        for n in NEAREST
        for s in ((2.0, 3.0), (0.6, 1.7))
    ),
    *(scaled(m, c, *s) for m in ("linear", "cubic") for c in HALVES for s in ((2.0, 3.0), (0.6, 0.5), (1.7, 0.4))),
    *(sized(m, c, *s) for m in MODES for c in COORDINATES for s in ((10, 12), (3, 4), (7, 1))),
    *(scaled(m, "align_corners", 2.0, 0.5) for m in MODES),
    *(scaled("cubic", c, 1.7, 0.8, attributes={"cubic_coeff_a": -0.5}) for c in HALVES),
    *(scaled("cubic", c, 1.7, 0.8, attributes={"exclude_outside": 1}) for c in HALVES),
    *(scaled(m, "half_pixel_symmetric", 1.7, 0.7) for m in MODES),
    *(scaled(m, "half_pixel", 0.6, 0.4, attributes={"antialias": 1}, engine="reference") for m in ("linear", "cubic")),
    *(
        scaled(m, "asymmetric", 2.0, 2.0, free=(0, 2, 3), attributes={"nearest_mode": "floor"})
        for m in ("nearest", "linear")
    ),
    *(scaled(m, "half_pixel", 2.0, 2.0, free=(0, 2, 3)) for m in MODES),
    *(scaled(m, "align_corners", 2.0, 2.0, free=(0, 2, 3)) for m in ("linear", "cubic")),
    *(sized(m, "half_pixel", 9, 13, free=(2, 3)) for m in MODES),
    scaled("linear", "half_pixel", 1.7, 0.7, free=(0, 2, 3)),
    *(
        Case(
            op="Resize",
            inputs=(X, None, None, ints(9, 9)),
            constants=(3,),
            opset=19,
            attributes={"mode": "linear", "axes": [2, 3], "keep_aspect_ratio_policy": policy},
        )
        for policy in ("stretch", "not_larger", "not_smaller")
    ),
    *(
        Case(
            op="Resize",
            inputs=(X, f32(0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7), None, ints(2, 3, 4, 5)),
            constants=(1, 3),
            opset=19,
            attributes={
                "mode": mode,
                "coordinate_transformation_mode": "tf_crop_and_resize",
                "extrapolation_value": 9.0,
            },
            engine="reference",
        )
        for mode in ("linear", "nearest")
    ),
    *(
        Case(op="Upsample", inputs=(X, f32(1, 1, 2, 3)), constants=(1,), opset=9, attributes={"mode": m})
        for m in ("nearest", "linear")
    ),
    Case(op="Upsample", inputs=(X,), opset=7, attributes={"scales": [1.0, 1.0, 2.0, 3.0]}),
    *(
        Case(op="Resize", inputs=(X, f32(1, 1, 2, 3)), constants=(1,), opset=10, attributes={"mode": m})
        for m in ("nearest", "linear")
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("case", "mode"),
    [
        (scaled("nearest", "asymmetric", 2.0, 2.0, attributes={"nearest_mode": "floor"}), "nearest"),
        (scaled("linear", "half_pixel", 2.0, 2.0), "bilinear"),
        (sized("linear", "align_corners", 9, 8), "bilinear"),
        (sized("cubic", "half_pixel", 9, 8), "bicubic"),
    ],
    ids=lambda c: c if isinstance(c, str) else c.id,
)
def test_the_rule_of_torch_is_the_call_of_torch(case: Case, mode: str) -> None:
    (node,) = graph_of(case).nodes
    assert (node.op.name, node.kwargs["mode"]) == ("interpolate", mode)


def test_another_rule_is_our_own() -> None:
    assert [n.op.name for n in graph_of(scaled("nearest", "half_pixel", 1.7, 0.6)).nodes] == ["resize"]


def test_aligned_corners_at_a_size_that_is_not_whole_are_refused() -> None:
    with pytest.raises(MigrateError, match="engines differ"):
        graph_of(scaled("linear", "align_corners", 1.7, 0.7))


def test_factors_that_are_joined_of_constants_are_known() -> None:
    """So the TorchScript exporter writes a scale where it folds nothing."""
    nodes = [node("Concat", ["ones", "twos"], ["scales"], axis=0), node("Resize", ["x", "", "scales"], ["y"])]
    graph = load_onnx(build(nodes, {"ones": f32(1, 1), "twos": f32(2, 2)}, inputs=("x", ("N", 3, "H", "W"))))
    assert all(
        new.values == (2 * old).values
        for new, old in zip(graph.outputs[0].shape[2:], graph.inputs[0].shape[2:], strict=False)
    )
