"""Runs every operator of an emulated device: judged by its table, computed on the CPU, paid for in bytes and time.

Knows nothing of how torch is told about the device (`_emulated_backend.py`).
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from ._emulated_check import Trial, try_parts
from ._emulated_kernels import COMPUTE, SPECIAL
from ._emulated_memory import Lease, MemoryAccount
from ._emulated_plan import TAKES_HOST_TENSORS, Plan, Verdict, decomposition_of, explicit_key, make_plan, operator_name
from ._emulated_table import DeviceProfile
from ._emulated_tensor import EmulatedTensor, unwrap, wrap


class Emulator:
    """The state of one emulated device, and its dispatch function `run`."""

    def __init__(self, profile: DeviceProfile) -> None:
        self.profile = profile
        self.account = MemoryAccount(profile.memory_bytes)
        self.seconds = 0.0
        self.trial: Trial | None = None
        self.unchecked: dict[str, str] = {}
        self._plans: dict[Any, Plan] = {}
        self._pending: Exception | None = None
        self._pending_task = -1

    def use(self, profile: DeviceProfile) -> None:
        """Go on with other facts; what is in memory stays there."""
        self.profile = profile
        self.account.budget = profile.memory_bytes
        self.unchecked.clear()
        self._plans.clear()

    def calls(self) -> dict[str, int]:
        """How often each operator ran."""
        return {plan.name: plan.calls for plan in self._plans.values() if plan.calls}

    def fallbacks(self) -> dict[str, int]:
        """How often each operator ran on the host because the device has no kernel for it."""
        fallen = (p for p in self._plans.values() if any(v.fallback for v in p.verdicts.values()))
        return {plan.name: plan.calls for plan in fallen}

    # -- errors ------------------------------------------------------------------------------------------------------

    def fail(self, error: Exception) -> None:
        """Raise, or in backward remember: an exception that leaves a kernel there would end the process.

        The first error of a backward pass is raised when the pass ends, as an ordinary exception of `backward()`.
        """
        if not _in_backward():
            raise error
        task = torch._C._current_graph_task_id()
        if self._pending is None or self._pending_task != task:
            self._pending, self._pending_task = error, task
            engine: Any = torch.autograd.Variable._execution_engine
            engine.queue_callback(self._raise_pending)

    def _raise_pending(self) -> None:
        error, self._pending = self._pending, None
        if error is not None:
            raise error

    def _stand_in(self, plan: Plan, args: list[Any], kwargs: dict[str, Any], error: Exception) -> Any:
        """Zeros of the right shape for an operator that failed in backward, with the failure remembered."""
        if not _in_backward():
            raise error
        self.fail(error)
        try:
            meta_args, meta_kwargs = tree_map_only(Tensor, _to_meta, (args, kwargs))
            result = plan.func(*meta_args, **meta_kwargs)
        except Exception:
            # nothing can be returned, and the process ends below: this is the last chance to say why
            print(f"{self.profile.name}: aten::{plan.name} failed in backward: {error}", file=sys.stderr, flush=True)
            raise error from None
        return tree_map_only(Tensor, lambda t: torch.zeros_like(t, device="cpu"), result)

    # -- judging -----------------------------------------------------------------------------------------------------

    def _plan(self, func: Any) -> Plan:
        name, profile = operator_name(func), self.profile
        composite = name in profile.composite and explicit_key(func) is not None
        listed = name in profile.native or name in profile.metadata or composite
        plan = make_plan(func, listed=listed, compute=COMPUTE.get(name), special=SPECIAL.get(name))
        self._plans[func] = plan
        return plan

    def judge(self, plan: Plan, devices: list[EmulatedTensor], args: Any, kwargs: Any) -> Verdict:
        """What the device makes of this call; refuses it where it must."""
        key = tuple([tensor.dtype for tensor in devices])
        verdict = plan.verdicts.get(key)
        if verdict is None:
            # for an operator that meets itself among its own parts
            plan.verdicts[key] = Verdict()
            verdict = plan.verdicts[key] = self._examine(plan, key, args, kwargs)
        if self.trial is not None:
            self.trial.add(plan.name, verdict)
        elif verdict.refuse is not None:
            self.fail(verdict.refuse())
        return verdict

    def _examine(self, plan: Plan, dtypes: tuple[torch.dtype, ...], args: Any, kwargs: Any) -> Verdict:
        profile, name = self.profile, plan.name
        if plan.communicates:
            return Verdict(launches=1)
        unknown = next((dtype for dtype in dtypes if dtype not in profile.peak_flops), None)
        if unknown is not None:
            return Verdict(refuse=partial(profile.no_dtype, name, unknown))
        if name in profile.metadata:
            return Verdict(launches=0)
        if name in profile.native:
            return Verdict()
        # an operator of COMPUTE has a composite kernel that only says that a device must bring its own
        if name in profile.composite and name not in COMPUTE and explicit_key(plan.func) is not None:
            verdict = try_parts(self, plan, partial(plan.func._op_dk, explicit_key(plan.func)), args, kwargs)
            self.unchecked |= {name: verdict.unchecked} if verdict.unchecked else {}
            return verdict
        refused = plan.verdicts[dtypes] = Verdict(refuse=partial(profile.no_kernel, name))  # among its own parts too
        decomposition = decomposition_of(plan.func)
        if decomposition is not None:
            verdict = try_parts(self, plan, decomposition, args, kwargs)
            if verdict.refuse is None and not verdict.unchecked and not verdict.fallback:
                return verdict
        if profile.host_fallback:
            return Verdict(fallback=True)
        return refused

    def _check_hosts(self, plan: Plan, hosts: list[Tensor]) -> None:
        """Only a scalar may come from the host."""
        strange = next((t for t in hosts if t.dim() > 0), None)
        if strange is not None and plan.name not in TAKES_HOST_TENSORS and not plan.communicates:
            found = f"a tensor of shape {tuple(strange.shape)} on {strange.device}"
            message = f"but found {found} beside tensors on {EmulatedTensor.place} in aten::{plan.name}"
            self.fail(RuntimeError(f"Expected all tensors to be on the same device, {message}"))

    # -- memory and time -----------------------------------------------------------------------------------------------

    def hold(self, raw: Tensor) -> Lease | None:
        """Put the storage of `raw` on the account; fails where there is no room."""
        if self.trial is not None:
            return None
        account = self.account
        used, peak = account.used, account.peak
        lease = account.lease(raw)
        if account.budget is not None and account.budget < account.used > used:
            account.peak = peak
            self.fail(account.out_of_memory(raw, lease, self.profile.name))
        return lease

    def admit(self, operator: str, raw: Tensor) -> EmulatedTensor:
        """A device tensor over a result."""
        if raw.dtype not in self.profile.peak_flops and self.trial is None:
            self.fail(self.profile.no_dtype(operator, raw.dtype))
        return wrap(raw, self.hold(raw))

    def move(self, num_bytes: int, *, crosses: bool) -> None:
        """Pay for a copy, over the link to the host or inside the device."""
        if self.trial is not None:
            return
        if crosses:
            self.seconds += self.profile.host_link.seconds(num_bytes)
            return
        self.seconds += self.profile.launch_seconds + 2 * num_bytes / self.profile.memory_bandwidth

    def _charge(self, plan: Plan, verdict: Verdict, tensors: list[Tensor], args: list[Any], out: Any) -> None:
        num_bytes = 0
        for tensor in tensors:
            num_bytes += tensor.nbytes
        if plan.communicates:
            self.seconds += self.profile.peer_link.seconds(num_bytes)
            return
        if verdict.fallback:
            self.seconds += self.profile.host_link.seconds(num_bytes)
        flops = self._flops(plan, args, out) if plan.flops is not None else 0
        dtype = tensors[0].dtype if tensors else torch.float32
        self.seconds += verdict.launches * self.profile.launch_seconds + self.profile.seconds(num_bytes, flops, dtype)

    def _flops(self, plan: Plan, args: list[Any], out: Any) -> int:
        key = str([value.shape if isinstance(value, Tensor) else value for value in args])
        flops = plan.known_flops.get(key)
        if flops is None:
            assert plan.flops is not None
            flops = plan.known_flops[key] = plan.flops(*args, out_val=out)
        return flops

    # -- running -------------------------------------------------------------------------------------------------------

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one operator on device tensors."""
        plan = self._plans.get(func) or self._plan(func)
        if plan.redirect is not None:
            return plan.redirect(*args, **kwargs)
        devices: list[EmulatedTensor] = []
        hosts: list[Tensor] = []
        raw_args = unwrap(args, devices, hosts)
        raw_kwargs = dict(zip(kwargs, unwrap(kwargs.values(), devices, hosts), strict=True)) if kwargs else kwargs
        verdict = self.judge(plan, devices, args, kwargs)
        if plan.sparse is not None and plan.sparse < len(args) and args[plan.sparse]:
            # now, since torch cannot even make the gradient, and its exception in backward would end the process
            self.fail(self.profile.no_kernel(f"{plan.name} with sparse=True"))
        plan.calls += self.trial is None
        if plan.special is not None:
            return plan.special(self, args, kwargs, raw_args, raw_kwargs)
        if hosts:
            self._check_hosts(plan, hosts)
        try:
            out = plan.compute(*raw_args, **raw_kwargs)
        except Exception as error:
            if verdict.unchecked:
                plan.verdicts.clear()
            out = self._stand_in(plan, raw_args, raw_kwargs, error)
        return self._deliver(plan, verdict, (args, kwargs), devices, raw_args, out)

    def _deliver(
        self, plan: Plan, verdict: Verdict, given: Any, devices: list[EmulatedTensor], raw_args: Any, out: Any
    ):
        """Wrap the results, or hand back the arguments that they are, and pay."""
        tensors: list[Tensor] = [tensor.raw for tensor in devices]
        if plan.returns_fresh and type(out) is Tensor:
            tensors.append(out)
            delivered: Any = self.admit(plan.name, out)
        else:
            delivered = self._deliver_several(plan, given, devices, tensors, out)
        for place in plan.written:
            _refresh(_argument(given, place), plan.always_resizes)
        if verdict.launches and self.trial is None:
            self._charge(plan, verdict, tensors, raw_args, out)
        return delivered

    def _deliver_several(
        self, plan: Plan, given: Any, devices: list[EmulatedTensor], tensors: list[Tensor], out: Any
    ) -> Any:
        if not plan.returns:
            return None
        known = {id(t.raw): t for t in devices} if plan.communicates else {}
        values = out if len(plan.returns) > 1 else (out,)
        wrapped = [
            self._wrap(plan, value, tensors, known) if place is None else _argument(given, place)
            for value, place in zip(values, plan.returns, strict=True)
        ]
        return tuple(wrapped) if len(plan.returns) > 1 else wrapped[0]

    def _wrap(self, plan: Plan, value: Any, tensors: list[Tensor], known: dict[int, EmulatedTensor]) -> Any:
        if isinstance(value, Tensor):
            if id(value) in known:
                return known[id(value)]
            tensors.append(value)
            return self.admit(plan.name, value)
        if isinstance(value, tuple | list):
            return type(value)([self._wrap(plan, item, tensors, known) for item in value])
        return value


def _in_backward() -> bool:
    node: Any = torch._C._current_autograd_node()
    return node is not None


def _to_meta(tensor: Tensor) -> Tensor:
    return tensor.to("meta")


def _argument(given: tuple[tuple[Any, ...], dict[str, Any]], place: int | str) -> Any:
    args, kwargs = given
    if isinstance(place, str):
        return kwargs[place]
    return args[place]


def _refresh(written: Any, always: bool) -> None:
    """Let device tensors follow operators that resize or restride their arguments."""
    for tensor in written if isinstance(written, list | tuple) else (written,):
        if type(tensor) is not EmulatedTensor:
            continue
        raw = tensor.raw
        if always or tensor.shape != raw.shape or tensor.stride() != raw.stride():
            tensor.refresh()
