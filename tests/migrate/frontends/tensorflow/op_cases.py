"""One graph for each form of an operator: the shapes of its inputs, and what TensorFlow is to make of them.

`make_models.py` writes the graphs and their outputs into `models.zip`. An input's first axis is the batch; one that ends with
9 is of integers. Knows TensorFlow only as the argument `tf` (`r` is `tf.raw_ops`).
"""

# ruff: noqa: E501, SIM905  # a case is a line, names are words
from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np

Case = tuple[tuple[tuple[int, ...], ...], Callable[..., Any]]
_rng = np.random.default_rng(11)


def k(*shape: int) -> Any:
    """A constant of floats."""
    return _rng.normal(size=shape).astype("float32")


ROW, IMAGE, SERIES, VOLUME = (3, 4), (2, 7, 6, 4), (3, 8, 4), (2, 5, 6, 4, 2)


def drawn(name: str, index: int, shape: tuple[int, ...]) -> Any:
    """An input of a case: floats, or integers below 9 in a shape that ends with 9."""
    rng = np.random.default_rng((crc32(name.encode()), index))
    if shape[-1] == 9:
        return rng.integers(0, 9, (shape[0], 4)).astype("int32")
    return rng.normal(size=shape).astype("float32")


UNARY = (
    "Abs Neg Exp Square Erf Sign Floor Ceil Round Rint Sin Cos Tan Atan Sinh Cosh Asinh Expm1 Relu Relu6 Elu Selu "
    "Sigmoid Tanh Softplus Softsign Softmax LogSoftmax LeakyRelu IsNan IsInf IsFinite ZerosLike OnesLike Identity "
    "Snapshot Reciprocal Inv"
).split()
POSITIVE = "Log Log1p Sqrt Rsqrt Lgamma Digamma Acosh".split()
SMALL = "Asin Acos Atanh Erfinv".split()
BINARY = "AddV2 Sub Mul RealDiv Maximum Minimum SquaredDifference FloorDiv FloorMod Atan2 DivNoNan MulNoNan Xlogy Mod TruncateMod".split()
COMPARES = "Less LessEqual Greater GreaterEqual Equal NotEqual".split()
REDUCES = "Mean Sum Max Min Prod EuclideanNorm".split()
_raw: dict[str, Case] = {}


def _unary(op: str, change: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def run(tf: Any, x: Any) -> Any:
        name = {"Round": "x", "Selu": "features"}.get(op)
        call = getattr(tf.raw_ops, op)
        given = change(tf, x)
        keys = [name] if name else ["x", "features", "logits", "input", "tensor", "y"]
        for key in keys:
            try:
                return call(**{key: given})
            except TypeError:
                continue
        raise TypeError(op)

    return run


for _op in UNARY:
    _raw[_op] = ((IMAGE,), _unary(_op, lambda tf, x: x))
for _op in POSITIVE:
    _raw[_op] = ((ROW,), _unary(_op, lambda tf, x: tf.abs(x) + 1.1))
for _op in SMALL:
    _raw[_op] = ((ROW,), _unary(_op, lambda tf, x: tf.tanh(x) * 0.9))
for _op in (*BINARY, *COMPARES):
    _raw[_op] = ((ROW, ROW), lambda tf, x, y, op=_op: getattr(tf.raw_ops, op)(x=x, y=y))
    _raw[f"{_op} broadcast"] = (
        (IMAGE,),
        lambda tf, x, op=_op: getattr(tf.raw_ops, op)(x=tf.nn.avg_pool2d(x, 2, 2, "SAME"), y=k(4)),
    )
for _op in REDUCES:
    for _axes in ((1, 2), (-1,), (3, 1), (2,)):
        for _keep in (False, True):
            _raw[f"{_op} {_axes} {_keep}"] = (
                (IMAGE,),
                lambda tf, x, op=_op, axes=_axes, keep=_keep: getattr(tf.raw_ops, op)(
                    input=tf.nn.max_pool2d(x, 2, 1, "SAME"), axis=list(axes), keep_dims=keep
                ),
            )


def _pool(tf: Any, x: Any) -> Any:
    """The image as a tensor with its channels second inside."""
    return tf.nn.max_pool2d(x, 2, 1, "SAME")


CASES: dict[str, Case] = _raw | {
    "Pow": ((ROW,), lambda tf, x: tf.pow(tf.abs(x) + 0.1, 2.5)),
    "LogicalAnd": ((ROW, ROW), lambda tf, x, y: tf.logical_and(x > 0, y > 0)),
    "LogicalOr Not": ((ROW, ROW), lambda tf, x, y: tf.logical_or(tf.logical_not(x > 0), y > 0)),
    "All Any": ((ROW,), lambda tf, x: (tf.reduce_all(x > -1, 1), tf.reduce_any(x > 0, [1], keepdims=True))),
    "SelectV2": ((ROW, ROW), lambda tf, x, y: tf.where(x > 0, x, y)),
    "Select": ((ROW, ROW), lambda tf, x, y: tf.raw_ops.Select(condition=x[:, 0] > 0, x=x, y=y)),
    "AddN": ((ROW, ROW), lambda tf, x, y: tf.add_n([x, y, x])),
    "ClipByValue": ((ROW,), lambda tf, x: tf.raw_ops.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=0.4)),
    "Cast": ((ROW,), lambda tf, x: tf.cast(x * 3, tf.int32)),
    "Cast bool": ((ROW,), lambda tf, x: tf.cast(x > 0, tf.float32)),
    "integers": (((3, 4), (3, 4)), lambda tf, x, y: tf.cast(x * 5, tf.int32) // (tf.cast(y * 5, tf.int32) * 2 + 1)),
    "TruncateDiv": ((ROW,), lambda tf, x: tf.raw_ops.TruncateDiv(x=tf.cast(x * 9, tf.int32), y=2)),
    "Bitwise": (((3, 9), (3, 9)), lambda tf, x, y: tf.bitwise.bitwise_xor(x, tf.bitwise.bitwise_and(y, 5))),
    "StopGradient": ((ROW,), lambda tf, x: tf.stop_gradient(x)),
    "L2Loss": ((ROW,), lambda tf, x: x * tf.nn.l2_loss(k(3))),
    # ---- matrices
    "MatMul": ((ROW,), lambda tf, x: x @ k(4, 5)),
    "MatMul transposed": ((ROW,), lambda tf, x: tf.matmul(x, k(5, 4), transpose_b=True)),
    "BatchMatMul": ((SERIES, SERIES), lambda tf, x, y: tf.matmul(x, y, transpose_b=True)),
    "BatchMatMul adj": ((SERIES, SERIES), lambda tf, x, y: tf.matmul(x, y, adjoint_a=True)),
    "Einsum": ((SERIES,), lambda tf, x: tf.einsum("btc,cd->btd", x, k(4, 3))),
    "Tensordot": ((SERIES,), lambda tf, x: tf.tensordot(x, k(4, 3), 1) + k(3)),
    "BiasAdd": ((IMAGE,), lambda tf, x: tf.nn.bias_add(_pool(tf, x), k(4))),
    "flatten and MatMul": ((IMAGE,), lambda tf, x: tf.nn.relu(tf.reshape(_pool(tf, x), (-1, 168))) @ k(168, 3)),
    "flatten and add": ((IMAGE,), lambda tf, x: tf.reshape(_pool(tf, x), (-1, 168)) + k(168)),
    # ---- convolutions and pooling
    **{
        f"Conv2D {pad} {s} {d}": (
            (IMAGE,),
            lambda tf, x, pad=pad, s=s, d=d: tf.nn.conv2d(x, k(3, 2, 4, 5), s, pad, dilations=d),
        )
        for pad, s, d in (
            ("SAME", 1, 1),
            ("SAME", 2, 1),
            ("SAME", 3, 1),
            ("VALID", 2, 1),
            ("SAME", 1, 2),
            ("VALID", 1, 2),
        )
    },
    "Conv2D explicit": ((IMAGE,), lambda tf, x: tf.nn.conv2d(x, k(3, 3, 4, 5), 1, [[0, 0], [1, 2], [0, 1], [0, 0]])),
    "Conv2D groups": ((IMAGE,), lambda tf, x: tf.nn.conv2d(x, k(3, 3, 2, 6), 1, "SAME")),
    "Conv1D": ((SERIES,), lambda tf, x: tf.nn.conv1d(x, k(3, 4, 5), 2, "SAME")),
    "Conv1D dilated": ((SERIES,), lambda tf, x: tf.nn.conv1d(x, k(3, 4, 5), 1, "SAME", dilations=2)),
    "Conv3D": ((VOLUME,), lambda tf, x: tf.nn.conv3d(x, k(2, 3, 2, 2, 3), [1, 2, 2, 2, 1], "SAME")),
    "DepthwiseConv2d": ((IMAGE,), lambda tf, x: tf.nn.depthwise_conv2d(x, k(3, 3, 4, 2), [1, 2, 2, 1], "SAME")),
    "DepthwiseConv2d dilated": (
        (IMAGE,),
        lambda tf, x: tf.nn.depthwise_conv2d(x, k(3, 3, 4, 1), [1, 1, 1, 1], "SAME", dilations=[2, 2]),
    ),
    "SeparableConv2d": (
        (IMAGE,),
        lambda tf, x: tf.nn.separable_conv2d(x, k(3, 3, 4, 2), k(1, 1, 8, 3), [1, 1, 1, 1], "VALID"),
    ),
    "atrous depthwise": ((IMAGE,), lambda tf, x: _atrous_depthwise(tf, x)),
    "atrous of a series": ((SERIES,), lambda tf, x: _atrous_series(tf, x)),
    "atrous by batches": ((IMAGE,), lambda tf, x: _atrous(tf, x)),
    **{
        f"Conv2DBackpropInput {pad} {s} {size}": (
            (IMAGE,),
            lambda tf, x, pad=pad, s=s, size=size, out=out: tf.nn.conv2d_transpose(
                x, k(size, size, 5, 4), tf.stack([tf.shape(x)[0], *out, 5]), s, pad
            ),
        )
        for pad, s, size, out in (
            ("SAME", 2, 3, (14, 12)),
            ("SAME", 2, 2, (14, 12)),
            ("SAME", 3, 2, (21, 18)),
            ("VALID", 2, 3, (15, 13)),
            ("SAME", 1, 3, (7, 6)),
            ("SAME", 2, 4, (14, 12)),
            ("SAME", 2, 5, (14, 12)),
        )
    },
    **{
        f"{op} {pad} {size} {s}": (
            (IMAGE,),
            lambda tf, x, op=op, pad=pad, size=size, s=s: getattr(tf.nn, op)(x, size, s, pad),
        )
        for op in ("max_pool2d", "avg_pool2d")
        for pad, size, s in (("SAME", 2, 2), ("SAME", 3, 2), ("SAME", 3, 1), ("VALID", 2, 2), ("VALID", 3, 1))
    },
    "MaxPool3D": ((VOLUME,), lambda tf, x: tf.nn.max_pool3d(x, 2, 2, "SAME")),
    "AvgPool3D": ((VOLUME,), lambda tf, x: tf.nn.avg_pool3d(x, 2, 2, "VALID")),
    "MaxPool1D": ((SERIES,), lambda tf, x: tf.nn.max_pool1d(x, 3, 2, "SAME")),
    # ---- normalisation
    "FusedBatchNormV3": (
        (IMAGE,),
        lambda tf, x: (
            tf.raw_ops.FusedBatchNormV3(
                x=x, scale=k(4), offset=k(4), mean=k(4), variance=np.abs(k(4)), is_training=False, epsilon=0.01
            ).y
        ),
    ),
    "batch normalisation by hand": (
        (IMAGE,),
        lambda tf, x: tf.nn.batch_normalization(x, k(4), np.abs(k(4)), k(4), k(4), 1e-3),
    ),
    "LRN": ((IMAGE,), lambda tf, x: tf.nn.lrn(x, 2, 1.5, 0.3, 0.6)),
    "layer normalisation": ((SERIES,), lambda tf, x: _layer_norm(tf, x)),
    "layer normalisation of an image": ((IMAGE,), lambda tf, x: _layer_norm(tf, _pool(tf, x))),
    "gelu": ((SERIES,), lambda tf, x: tf.nn.gelu(x)),
    "gelu by tanh": ((SERIES,), lambda tf, x: tf.nn.gelu(x, approximate=True)),
    "Erfc": ((ROW,), lambda tf, x: tf.math.erfc(x)),
    "Conv1D dilated free": ((SERIES,), lambda tf, x: tf.nn.convolution(x, k(3, 4, 5), padding="SAME", dilations=[2])),
    "l2_normalize": ((IMAGE,), lambda tf, x: tf.math.l2_normalize(_pool(tf, x), -1)),
    # ---- shapes
    "Reshape": ((IMAGE,), lambda tf, x: tf.reshape(_pool(tf, x), (-1, 6, 28))),
    "Reshape by Shape": ((IMAGE,), lambda tf, x: tf.reshape(x, tf.stack([tf.shape(x)[0], -1, 2]))),
    "squeeze and excite": (
        (IMAGE,),
        lambda tf, x: _pool(tf, x) * tf.reshape(tf.reduce_mean(_pool(tf, x), [1, 2]), (-1, 1, 1, 4)),
    ),
    "Transpose": ((IMAGE,), lambda tf, x: tf.transpose(_pool(tf, x), (0, 3, 1, 2))),
    "Transpose other": ((IMAGE,), lambda tf, x: tf.transpose(_pool(tf, x), (0, 2, 3, 1))),
    "ExpandDims": ((SERIES,), lambda tf, x: tf.expand_dims(tf.nn.max_pool1d(x, 2, 1, "SAME"), 1)),
    "ExpandDims last": ((IMAGE,), lambda tf, x: tf.expand_dims(_pool(tf, x), -1)),
    "Squeeze": ((IMAGE,), lambda tf, x: tf.squeeze(tf.reduce_max(_pool(tf, x), [1, 2], keepdims=True), [1, 2])),
    "Squeeze one": ((IMAGE,), lambda tf, x: tf.squeeze(tf.reduce_max(_pool(tf, x), [1], keepdims=True), [1])),
    "Squeeze channels": ((IMAGE,), lambda tf, x: tf.squeeze(tf.nn.conv2d(x, k(1, 1, 4, 1), 1, "SAME"), -1)),
    "ConcatV2": ((IMAGE, IMAGE), lambda tf, x, y: tf.concat([_pool(tf, x), y], -1)),
    "ConcatV2 rows": ((IMAGE,), lambda tf, x: tf.concat([_pool(tf, x), x], 1)),
    "Concat": ((ROW, ROW), lambda tf, x, y: tf.raw_ops.Concat(concat_dim=1, values=[x, y])),
    "Pack": ((ROW, ROW), lambda tf, x, y: tf.stack([x, y], 1)),
    "Pack last": ((ROW, ROW), lambda tf, x, y: tf.stack([x, y], -1)),
    "Unpack": ((ROW,), lambda tf, x: tuple(tf.unstack(x, axis=1))[:2]),
    "Split": ((IMAGE,), lambda tf, x: tuple(tf.split(_pool(tf, x), 2, -1))),
    "SplitV": ((IMAGE,), lambda tf, x: tuple(tf.split(_pool(tf, x), [1, -1], 3))),
    "Tile": ((ROW,), lambda tf, x: tf.tile(x, [1, 3])),
    "BroadcastTo": (((3, 1, 4),), lambda tf, x: tf.broadcast_to(x, tf.stack([tf.shape(x)[0], 2, 4]))),
    "Fill": ((ROW,), lambda tf, x: tf.fill(tf.shape(x), 2.0) * x),
    "Range": ((ROW,), lambda tf, x: x + tf.cast(tf.range(0, 4, 1), tf.float32)),
    "Range by Shape": ((SERIES,), lambda tf, x: x + tf.cast(tf.range(tf.shape(x)[1]), tf.float32)[:, tf.newaxis]),
    "ReverseV2": ((ROW,), lambda tf, x: tf.reverse(x, [1])),
    "Roll": ((ROW,), lambda tf, x: tf.roll(x, 1, 1)),
    "MatrixBandPart": (((3, 5, 5),), lambda tf, x: tf.linalg.band_part(x, 1, 0)),
    "Rank Size": ((ROW,), lambda tf, x: x * tf.cast(tf.rank(x), tf.float32) / tf.cast(tf.size(x), tf.float32)),
    "DepthToSpace": ((IMAGE,), lambda tf, x: tf.nn.depth_to_space(_pool(tf, x), 2)),
    "SpaceToDepth": (((3, 8, 6, 2),), lambda tf, x: tf.nn.space_to_depth(x, 2)),
    "StridedSlice": ((IMAGE,), lambda tf, x: _pool(tf, x)[:, 1:-1, ::2]),
    "StridedSlice channels": ((IMAGE,), lambda tf, x: _pool(tf, x)[..., :3]),
    "StridedSlice one channel": ((IMAGE,), lambda tf, x: _pool(tf, x)[..., 1]),
    "StridedSlice one row": ((IMAGE,), lambda tf, x: _pool(tf, x)[:, 2]),
    "StridedSlice new axis": ((ROW,), lambda tf, x: x[:, tf.newaxis, 1:]),
    "StridedSlice reversed": ((IMAGE,), lambda tf, x: _pool(tf, x)[:, ::-1]),
    "Slice": ((IMAGE,), lambda tf, x: tf.slice(_pool(tf, x), [0, 1, 2, 0], [-1, 3, -1, 2])),
    "Pad": ((IMAGE,), lambda tf, x: tf.pad(_pool(tf, x), [[0, 0], [1, 2], [0, 3], [0, 0]])),
    "PadV2 channels": (
        (IMAGE,),
        lambda tf, x: tf.pad(_pool(tf, x), [[0, 0], [0, 0], [0, 0], [1, 0]], constant_values=2.0),
    ),
    "MirrorPad": ((IMAGE,), lambda tf, x: tf.pad(_pool(tf, x), [[0, 0], [1, 2], [2, 1], [0, 0]], "REFLECT")),
    "MirrorPad symmetric": ((IMAGE,), lambda tf, x: tf.pad(x, [[0, 0], [1, 2], [2, 1], [0, 0]], "SYMMETRIC")),
    "MirrorPad rows": ((ROW,), lambda tf, x: tf.pad(x, [[0, 0], [2, 1]], "REFLECT")),
    # ---- look-ups
    "GatherV2": ((ROW,), lambda tf, x: tf.gather(x, [2, 0, 1], axis=1)),
    "GatherV2 one": ((ROW,), lambda tf, x: tf.gather(x, 2, axis=1)),
    "GatherV2 matrix": ((ROW,), lambda tf, x: tf.gather(x, [[2, 0], [1, 1]], axis=1)),
    "GatherV2 batch": ((ROW,), lambda tf, x: tf.gather(x, tf.cast(x > 0, tf.int32), batch_dims=1)),
    "embedding": (((3, 4, 7),), lambda tf, x: tf.gather(k(7, 5), tf.argmax(x, -1))),
    "GatherNd": (
        (ROW,),
        lambda tf, x: tf.gather_nd(x, tf.stack([tf.range(tf.shape(x)[0]), tf.cast(x[:, 0] > 0, tf.int32)], 1)),
    ),
    "OneHot": (((3, 4, 7),), lambda tf, x: tf.one_hot(tf.argmax(x, -1), 6, 2.0, -1.0)),
    "TopKV2": ((ROW,), lambda tf, x: tuple(tf.nn.top_k(x, 2))),
    "ArgMax": ((IMAGE,), lambda tf, x: (tf.argmax(_pool(tf, x), -1), tf.argmin(_pool(tf, x), 1, output_type=tf.int32))),
    "Cumsum": ((ROW,), lambda tf, x: (tf.cumsum(x, 1), tf.cumsum(x, 1, exclusive=True), tf.cumsum(x, 1, reverse=True))),
    "Cumsum both": ((ROW,), lambda tf, x: tf.cumsum(x, 1, exclusive=True, reverse=True)),
    "Cumprod": ((ROW,), lambda tf, x: tf.math.cumprod(x, 1)),
    "ReverseSequence": (
        (SERIES,),
        lambda tf, x: tf.reverse_sequence(x, tf.cast(x[:, 0, 0] > 0, tf.int32) * 3 + 2, seq_axis=1),
    ),
    "TensorScatterUpdate": (
        (ROW,),
        lambda tf, x: tf.transpose(tf.tensor_scatter_nd_update(tf.transpose(x), [[1], [3]], tf.transpose(x)[:2])),
    ),
    "TensorScatterAdd": (
        (ROW,),
        lambda tf, x: tf.transpose(tf.tensor_scatter_nd_add(tf.transpose(x), [[1], [1]], tf.transpose(x)[:2])),
    ),
    "ScatterNd": (
        (ROW,),
        lambda tf, x: tf.transpose(tf.scatter_nd([[1], [3]], tf.transpose(x)[:2], tf.stack([5, tf.shape(x)[0]]))),
    ),
    "UnsortedSegmentSum": (
        (ROW,),
        lambda tf, x: tf.transpose(tf.math.unsorted_segment_sum(tf.transpose(x), [1, 0, 1, 2], 3)),
    ),
    # ---- resolution
    **{
        f"{method} {corners} {half} {size}": (
            (IMAGE,),
            lambda tf, x, m=method, c=corners, h=half, s=size: getattr(tf.raw_ops, m)(
                images=x, size=s, align_corners=c, half_pixel_centers=h
            ),
        )
        for method, corners, half in (
            ("ResizeBilinear", False, False),
            ("ResizeBilinear", True, False),
            ("ResizeBilinear", False, True),
            ("ResizeNearestNeighbor", False, False),
            ("ResizeNearestNeighbor", True, False),
            ("ResizeNearestNeighbor", False, True),
        )
        for size in ((14, 12), (9, 5))
    },
    # ---- control flow
    "loop": (
        (ROW,),
        lambda tf, x: tf.while_loop(lambda i, y: i < 20, lambda i, y: (i + 1, tf.tanh(y @ k(4, 4))), (0, x))[1],
    ),
    "loop by data": (
        (ROW,),
        lambda tf, x: tf.while_loop(lambda y: tf.reduce_sum(tf.abs(y)) > 0.5, lambda y: (y * 0.7,), (x,)),
    ),
    "map": (
        (ROW,),
        lambda tf, x: tf.transpose(tf.map_fn(lambda c: c * 2.0 + 1.0, tf.ensure_shape(tf.transpose(x), (4, None)))),
    ),
    "branch": ((ROW,), lambda tf, x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: x - 1.0)),
    "old branch": ((ROW,), lambda tf, x: _old_branch(tf, x)),
    "branch on an image": (
        (IMAGE,),
        lambda tf, x: _pool(tf, tf.cond(tf.reduce_sum(x) > 0, lambda: _pool(tf, x), lambda: x)),
    ),
}


def _atrous(tf: Any, x: Any) -> Any:
    wide = tf.raw_ops.SpaceToBatchND(input=x, block_shape=[2, 2], paddings=[[2, 3], [2, 2]])
    made = tf.nn.conv2d(wide, k(3, 3, 4, 2), 1, "VALID")
    return tf.raw_ops.BatchToSpaceND(input=made, block_shape=[2, 2], crops=[[0, 1], [0, 0]])


def _atrous_depthwise(tf: Any, x: Any) -> Any:
    wide = tf.raw_ops.SpaceToBatchND(input=x, block_shape=[2, 2], paddings=[[2, 3], [2, 2]])
    made = tf.nn.depthwise_conv2d(wide, k(3, 3, 4, 2), [1, 1, 1, 1], "VALID")
    return tf.raw_ops.BatchToSpaceND(input=made, block_shape=[2, 2], crops=[[0, 1], [0, 0]])


def _atrous_series(tf: Any, x: Any) -> Any:
    wide = tf.raw_ops.SpaceToBatchND(input=x, block_shape=[2], paddings=[[4, 0]])
    made = tf.nn.conv1d(wide, k(3, 4, 2), 1, "VALID")
    return tf.raw_ops.BatchToSpaceND(input=made, block_shape=[2], crops=[[0, 0]])


def _old_branch(tf: Any, x: Any) -> Any:
    """A branch of TensorFlow 1 on whether the model learns."""
    phase = tf.compat.v1.placeholder_with_default(False, (), name="keras_learning_phase")
    off, on = tf.raw_ops.Switch(data=x, pred=phase)
    return tf.raw_ops.Merge(inputs=[off * 3.0, on - 1.0]).output


def _layer_norm(tf: Any, x: Any) -> Any:
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-6) * k(4) + k(4)
