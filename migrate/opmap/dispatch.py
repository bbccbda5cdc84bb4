"""Watches every operator of a step as the device would get it, and expands those the device has no kernel for.

An operator is native or metadata by the table; else PyTorch's own composite kernel is run under the same watch, so that
its parts are held against the table; else PyTorch's registered decomposition is tried; else it is missing. Must not
know what a target costs or how a report looks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_impls import op_implementations_dict
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from migrate.opmap.live import LiveBytes
from migrate.opmap.operators import OperatorSets
from migrate.opmap.scopes import Scopes, current_node
from migrate.opmap.trace import TraceRow
from migrate.opmap.values import AssumedValues

COMPOSITE = (
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
)
# Bookkeeping of autograd and of profilers, and reads of one value: on no device a kernel that computes.
IGNORED = frozenset({"detach", "alias", "lift_fresh", "lift", "lift_fresh_copy", "prim::device", "_assert_async.msg"})
# Torch's words where a kernel reads the memory of a fake.
NOT_ALLOCATED = "its data is not allocated yet"
Args = Sequence[Any]
Kwargs = dict[str, Any]
# Allocations: no kernel runs and no byte is touched.
ALLOCATIONS = frozenset({"empty.memory_format", "empty_strided", "resize_"})


class NoKernelError(Exception):
    """A composite kernel ended at an operator that only a device can provide."""

    def __init__(self, operator: str) -> None:
        super().__init__(operator)
        self.operator = operator


class NoMemoryError(NoKernelError):
    """A composite kernel, none of whose operators is missing, reached for memory, which fakes have not."""


def operator_name(func: Any) -> str:
    """The name of docs/architecture.md: ATen without namespace and without `.default`."""
    schema = func._schema
    name = schema.name.removeprefix("aten::")
    return f"{name}.{schema.overload_name}" if schema.overload_name else name


def tensors_in(*trees: Any) -> list[Tensor]:
    """The tensors among arguments and results."""
    return [leaf for leaf in tree_leaves(trees) if isinstance(leaf, Tensor)]


def dtype_name(tensor: Tensor) -> str:
    """`float32` and not `torch.float32`."""
    return str(tensor.dtype).removeprefix("torch.")


def touched_bytes(tensor: Tensor) -> int:
    """Bytes that a kernel reads or writes of a tensor: an expanded dimension is read once."""
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return math.prod(size for size, stride in sizes if stride != 0 or size == 0) * tensor.element_size()


def compute_dtype(inputs: list[Tensor], outputs: list[Tensor]) -> str:
    """The dtype a kernel computes in: that of the first floating input, else of the first tensor."""
    floating = [t for t in (*inputs, *outputs) if t.is_floating_point() or t.is_complex()]
    return dtype_name((floating or inputs or outputs)[0]) if (floating or inputs or outputs) else ""


def has_kernel(func: Any, key: Any) -> bool:
    """Whether PyTorch has a kernel registered under a key."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key.name)


def has_shape_rule(func: Any) -> bool:
    """Whether the operator runs on fakes; without a rule torch would look for a kernel of the device and crash."""
    if func.namespace != "aten" or func in op_implementations_dict:
        return True
    keys = (torch._C.DispatchKey.Meta, torch._C.DispatchKey.CompositeImplicitAutograd, *COMPOSITE)
    return any(has_kernel(func, key) for key in keys)


def composite_kernel(func: Any, keys: Sequence[Any]) -> Callable[..., Any] | None:
    """The kernel by which PyTorch, or the library that defines the operator, implements it in terms of others."""
    for key in keys:
        if has_kernel(func, key):
            return partial(func._op_dk, key)
    return None


class StepMode(TorchDispatchMode):
    """The watch over one training step; `phase` is set by whoever runs the step."""

    def __init__(self, operators: OperatorSets, scopes: Scopes, live: LiveBytes) -> None:
        super().__init__()
        self.operators = operators
        self.scopes = scopes
        self.live = live
        self.assumed = AssumedValues()
        self.calls: list[TraceRow] = []
        self.host: Counter[str] = Counter()
        self.notes: dict[str, None] = {}
        self.phase = "forward"
        self.nested: list[str] = []
        self.refused: dict[str, str] = {}
        # Called with what goes wrong in backward, where a raised exception would abort the process unheard.
        self.on_fault: Callable[[Exception], None] = lambda fault: None

    def __torch_dispatch__(self, func: Any, types: Any, args: Args = (), kwargs: Kwargs | None = None) -> Any:
        try:
            return self.watch(func, args, kwargs or {})
        except Exception as fault:
            if not self.nested and current_node() is not None:
                self.on_fault(fault)
            raise

    def watch(self, func: Any, args: Args, kwargs: Kwargs) -> Any:
        """Decides by the table what becomes of one operator."""
        name = operator_name(func)
        if name in IGNORED or name.startswith("profiler::"):
            return func(*args, **kwargs)
        if not self.on_device(args, kwargs):
            self.host[name] += 1
            return self.run(func, args, kwargs)
        if name in self.operators.metadata:
            return self.leaf(func, name, "metadata", args, kwargs)
        if name in self.operators.native:
            return self.leaf(func, name, "native", args, kwargs)
        return self.expand(func, name, args, kwargs)

    def on_device(self, args: Args, kwargs: Kwargs) -> bool:
        """Whether the device gets the call: a scalar tensor on the host may be among its arguments."""
        tensors = tensors_in(args, kwargs)
        if any(tensor.device.type == self.live.device_type for tensor in tensors):
            return True
        device = kwargs.get("device")
        return device is not None and torch.device(device).type == self.live.device_type

    def run(self, func: Any, args: Args, kwargs: Kwargs) -> Any:
        """Runs an operator on fakes; where it asks for values, assumes them and says so."""
        name = operator_name(func)
        if not has_shape_rule(func):
            raise NotImplementedError(f"torch has no shape rule for {name}, so it cannot be traced without a device")
        try:
            return func(*args, **kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException):
            module = self.scopes.path()
            result = self.assumed.result(func, args, module)
            if result is NotImplemented:
                raise
            if self.on_device(args, kwargs):
                where = module or "the model"
                self.notes[f"{name} in {where} depends on data: one possible value was traced"] = None
            return result

    def leaf(self, func: Any, name: str, state: str, args: Args, kwargs: Kwargs) -> Any:
        """Runs an operator that is not expanded, and notes the call."""
        result = self.run(func, args, kwargs)
        inputs, outputs = tensors_in(args, kwargs), tensors_in(result)
        self.live.add(outputs)
        count_flops = flop_registry.get(func._overloadpacket)
        flops = int(count_flops(*args, **kwargs, out_val=result)) if count_flops and state != "metadata" else 0
        idle = state == "metadata" or name in ALLOCATIONS
        touched = 0 if idle else sum(touched_bytes(tensor) for tensor in (*inputs, *outputs))
        self.note(name, state, inputs, outputs, touched=touched, flops=flops)
        return result

    def note(
        self,
        name: str,
        state: str,
        inputs: list[Tensor],
        outputs: list[Tensor],
        *,
        touched: int = 0,
        flops: int = 0,
        parts: tuple[str, ...] = (),
    ) -> None:
        """Appends one call to the record."""
        device = [t for t in (*inputs, *outputs) if t.device.type == self.live.device_type and t.numel() > 0]
        self.calls.append(
            TraceRow(
                phase=self.current_phase(),
                operator=name,
                state=state,
                module=self.scopes.path(),
                dtype=compute_dtype(inputs, outputs),
                dtypes=tuple(sorted({dtype_name(tensor) for tensor in device})),
                shapes=" ".join("x".join(map(str, tensor.shape)) or "scalar" for tensor in inputs),
                count=1,
                bytes=touched,
                flops=flops,
                parts=parts,
            )
        )

    def current_phase(self) -> str:
        """The phase; what runs outside the model in forward is the loss."""
        return "loss" if self.phase == "forward" and not self.scopes.running else self.phase

    def expand(self, func: Any, name: str, args: Args, kwargs: Kwargs) -> Any:
        """Runs an operator without a kernel as its parts; the first way that works is taken."""
        if name not in self.refused:
            ways = [(way, state) for way, state in self.ways(func, name) if way is not None]
            ends, stands_in = name, False
            for way, state in ways:
                try:
                    return self.run_parts(way, name, "composed" if stands_in else state, args, kwargs)
                except NoMemoryError:
                    # The device has this kernel; the decomposition only stands for what cannot be watched.
                    stands_in = True
                except NoKernelError as fault:
                    # Where PyTorch's own kernel ends is what the device lacks; a decomposition is only one way.
                    ends = fault.operator if state == "composed" and ends == name else ends
            self.refused[name] = ends
        missing = self.refused[name]
        if self.nested:
            # The outermost operator decides: only it can be run on fakes whatever its parts need.
            raise NoKernelError(missing)
        result = self.leaf(func, missing, "missing", args, kwargs)
        if missing != name:
            self.notes[f"{name} needs {missing}"] = None
        return result

    def ways(self, func: Any, name: str) -> list[tuple[Callable[..., Any] | None, str]]:
        """The ways to run an operator as its parts, best first, with the state each of them means."""
        # Every structured operator has the second key's kernel, which calls itself: only the table tells them apart.
        explicit = composite_kernel(func, COMPOSITE if name in self.operators.composite else COMPOSITE[:1])
        implicit = func.decompose if has_kernel(func, torch._C.DispatchKey.CompositeImplicitAutograd) else None
        return [(explicit, "composed"), (implicit, "composed"), (registered_decomposition(func), "registered")]

    def run_parts(self, way: Callable[..., Any], name: str, state: str, args: Args, kwargs: Kwargs) -> Any:
        """Runs one way under the watch; a way that fails, or leaves the fakes, is taken back.

        Raises:
            NoKernelError: where it does not end in operators that the device has.
        """
        mark = len(self.calls)
        self.nested.append(name)
        try:
            with self:
                result = way(*args, **kwargs)
        except NoKernelError:
            del self.calls[mark:]
            raise
        except Exception as fault:
            del self.calls[mark:]
            raise (NoMemoryError if NOT_ALLOCATED in str(fault) else NoKernelError)(name) from fault
        finally:
            self.nested.pop()
        outputs = tensors_in(result)
        if result is NotImplemented or not all(isinstance(tensor, FakeTensor) for tensor in outputs):
            del self.calls[mark:]
            raise NoKernelError(name)
        parts = tuple(dict.fromkeys(call.operator for call in self.calls[mark:] if call.state != "composed"))
        self.note(name, state, tensors_in(args, kwargs), outputs, parts=parts)
        return result


def registered_decomposition(func: Any) -> Callable[..., Any] | None:
    """PyTorch's Python decomposition, which eager mode does not use unless the device registers it."""
    from torch._decomp import decomposition_table

    return decomposition_table.get(func)
