"""Writes `models.zip`: small models of each kind that TensorFlow saves, an input for each, and what TensorFlow makes of it.

`python -m tests.migrate.frontends.tensorflow.make_models`, where the extra [tensorflow] and tf_keras are installed. The tests
read the models and compare with these outputs; they need neither.
"""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
ARCHIVE = Path(__file__).with_name("models.zip")


def keras_model(keras: Any) -> Any:
    """A convolution, normalisation, pooling, dropout, a flattened image and a frozen layer."""
    L = keras.layers
    x = given = L.Input((9, 8, 3))
    x = L.ReLU()(L.BatchNormalization(momentum=0.9)(L.Conv2D(6, 3, padding="same", strides=2, use_bias=False)(x)))
    x = L.DepthwiseConv2D(3, padding="same", name="frozen", trainable=False)(x)
    x = L.BatchNormalization(momentum=0.9, scale=False)(x)
    x = L.MaxPooling2D(2, padding="same")(x)
    x = L.Dropout(0.3)(L.Flatten()(x))
    return keras.Model(given, L.Dense(4, activation="softmax")(x))


def shaken(model: Any) -> Any:
    """With weights and statistics that are not those of a fresh model."""
    rng = np.random.default_rng(3)
    model.set_weights(
        [
            np.abs(rng.normal(1, 0.3, w.shape)) if w.ndim == 1 and w.dtype == "float32" else w
            for w in model.get_weights()
        ]
    )
    return model


def function_module(tf: Any) -> Any:
    """A plain module: a variable that is not trained, a branch, a loop, and a table that is looked up."""

    class Module(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            rng = np.random.default_rng(5)
            self.w = tf.Variable(rng.normal(size=(4, 4)).astype("float32"), name="w")
            self.b = tf.Variable(rng.normal(size=4).astype("float32"), name="b")
            self.scale = tf.Variable(rng.normal(size=4).astype("float32"), name="scale", trainable=False)

        @tf.function(input_signature=[tf.TensorSpec((None, 4), tf.float32, name="x")])
        def __call__(self, x: Any) -> Any:
            y = tf.while_loop(
                lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y @ self.w + self.b)), (tf.constant(0), x)
            )[1]
            y = tf.cond(tf.reduce_sum(x) > 0, lambda: y * self.scale, lambda: y - 1.0)
            return {"out": y, "rows": tf.gather(self.w, tf.argmax(y, -1))}

    return Module()


def old_graph(tf: Any, folder: Path) -> dict[str, Any]:
    """A model of TensorFlow 1 and the same frozen; what it gives."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(4)
        x = v1.placeholder(tf.float32, (None, 6, 6, 2), name="x")
        kernel = v1.get_variable("conv/kernel", (3, 3, 2, 5), use_resource=False)
        bias = v1.get_variable("conv/bias", (5,), use_resource=False, initializer=v1.constant_initializer(0.1))
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, 2, 2, 1], "SAME"), bias))
        w = v1.get_variable("fc/weights", (45, 3), use_resource=False)
        y = tf.identity(tf.reshape(h, (-1, 45)) @ w, name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder / "old"), {"x": x}, {"y": y})
        frozen = v1.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
        (folder / "frozen.pb").write_bytes(frozen.SerializeToString())
        given = np.random.default_rng(6).normal(size=(3, 6, 6, 2)).astype("float32")
        found = session.run(y, {x: given})
        return {"old/x": given, "old/=y": found, "frozen.pb/x": given, "frozen.pb/=y": found}


def recurrent_model(keras: Any, steps: int | None) -> Any:
    """Two layers that walk along an axis, of free length or not."""
    L = keras.layers
    given = L.Input((steps, 3))
    return keras.Model(given, L.Dense(2)(L.GRU(4)(L.Bidirectional(L.LSTM(4, return_sequences=True))(given))))


def operators(tf: Any, folder: Path) -> dict[str, Any]:
    """Every case of `op_cases.py` as a frozen graph, its inputs and its outputs."""
    from tests.migrate.frontends.tensorflow.op_cases import CASES, drawn

    arrays: dict[str, Any] = {}
    (folder / "ops").mkdir()
    for name, (shapes, run) in CASES.items():
        with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
            given = [drawn(name, i, shape) for i, shape in enumerate(shapes)]
            inputs = [
                tf.compat.v1.placeholder(a.dtype, (None, *a.shape[1:]), name=f"x{i}") for i, a in enumerate(given)
            ]
            made = run(tf, *inputs)
            outputs = [
                tf.identity(o, name=f"y{i}") for i, o in enumerate(made if isinstance(made, tuple | list) else [made])
            ]
            found = session.run(outputs, dict(zip(inputs, given, strict=True)))
            wanted = tf.compat.v1.graph_util.extract_sub_graph(graph.as_graph_def(), [o.op.name for o in outputs])
        for node in wanted.node:
            for key in [key for key in node.attr if key.startswith("_")]:
                del node.attr[key]
        (folder / "ops" / f"{name}.pb").write_bytes(wanted.SerializeToString())
        arrays |= {f"ops/{name}/x{i}": a for i, a in enumerate(given)} | {
            f"ops/{name}/=y{i}": a for i, a in enumerate(found)
        }
    return arrays


def main() -> None:
    """Make the models in a folder, and the archive of it."""
    import keras
    import tensorflow as tf
    import tf_keras

    rng = np.random.default_rng(1)
    image = rng.normal(size=(3, 9, 8, 3)).astype("float32")
    row = rng.normal(size=(3, 4)).astype("float32")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arrays = old_graph(tf, folder)
        new = shaken(keras_model(keras))
        new.export(str(folder / "keras3"), verbose=False)
        old = shaken(keras_model(tf_keras))
        old.save(str(folder / "keras2"), save_format="tf")
        module = function_module(tf)
        tf.saved_model.save(module, str(folder / "module"), signatures=module.__call__)
        arrays |= {"keras3/x": image, "keras3/=output_0": new(image), "keras2/x": image, "keras2/=dense": old(image)}
        series = rng.normal(size=(3, 5, 3)).astype("float32")
        for kind, engine, steps in (
            ("recurrent3", keras, 5), ("series3", keras, None)
        ):  # fmt: skip
            model = shaken(recurrent_model(engine, steps))
            model.export(str(folder / kind), verbose=False)
            arrays |= {f"{kind}/x": series, f"{kind}/=y": model(series)}
        arrays |= operators(tf, folder)
        arrays |= {"module/x": row} | {f"module/={key}": value for key, value in module(row).items()}
        np.savez(folder / "arrays.npz", **{key: np.asarray(value) for key, value in arrays.items()})
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "fingerprint.pb"):
                archive.writestr(
                    zipfile.ZipInfo(str(path.relative_to(folder))), path.read_bytes(), zipfile.ZIP_DEFLATED
                )
        ARCHIVE.write_bytes(buffer.getvalue())


if __name__ == "__main__":
    main()
