"""From a graph to the plan of its package: every name and text is settled here, in the order of `plan_package`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from migrate.codegen.body import BodyWriter, block_writer
from migrate.codegen.build_tree import TreeBuilder
from migrate.codegen.classes import ClassBuilder
from migrate.codegen.configure import configure, mark_widths, num_layers, repeated_list
from migrate.codegen.expressions import Expr, Printer
from migrate.codegen.holes import Holes
from migrate.codegen.interface import SizeSources, find_interfaces
from migrate.codegen.lines import Body, Line
from migrate.codegen.names import Namespace, identifier, package_name, variables
from migrate.codegen.naming import Owners, all_places, assign_names, tensor_plans
from migrate.codegen.outputs import Output, find_outputs, loss_terms
from migrate.codegen.plan import ClassPlan, ConfigField, Member, PackagePlan, Settings, Source, TensorPlan
from migrate.codegen.roles import find_roles
from migrate.codegen.scopes import find_scopes, live_nodes
from migrate.codegen.specs import SpecBuilder
from migrate.codegen.symbols import Symbols
from migrate.codegen.tree import (
    Block,
    BlockCall,
    ChainCall,
    ControlCall,
    FunctionCall,
    Item,
    Place,
    blocks_of,
    outputs_of,
)
from migrate.codegen.unused import make_unused
from migrate.codegen.widths import Widths, find_widths
from migrate.graph.ir import Graph, Node, Value, sizes_in


def plan_package(
    graph: Graph, *, name: str, settings: Settings | None = None, source: Source | None = None
) -> PackagePlan:
    """Settle everything that the package will say.

    Args:
        graph: after the passes; it is not changed.
        name: what the package should be called; made a legal name here.
        settings: the user's choices.
        source: what the graph came from.

    Raises:
        MigrateError: no output can be trained, or an unknown loss.
    """
    settings = settings or Settings()
    outputs, symbols = find_outputs(graph), Symbols(graph)
    specs = SpecBuilder(graph, symbols)
    inputs, output_specs = specs.inputs(), specs.outputs(_output_names(graph))
    model, config = _model(graph, outputs, [spec.name for spec in inputs])
    tensors = tensor_plans(model.block, model.owners)
    classes, depth = _classes(model, symbols)
    config = (*config, depth) if depth else config
    return PackagePlan(
        name=package_name(name),
        graph=graph,
        settings=settings,
        source=source or Source(),
        classes=classes,
        inputs=inputs,
        outputs=output_specs,
        sizes=dict(specs.sizes),
        config=config,
        losses=loss_terms(outputs, output_specs, settings.loss),
        has_logits=bool(model.hoisted),
        legend=tuple(f"{symbol}: {where}" for symbol, where in symbols.where.items()),
        frozen=_frozen(tensors),
        tensors=tensors,
        modules=_modules(model.block.place),
        places=_places(model.block.place),
        outputs_of=_outputs_of(model.block, outputs),
    )


def _model(graph: Graph, outputs: list[Output], inputs: list[str]) -> tuple[_Root, tuple[ConfigField, ...]]:
    """The module tree with every name settled, and what may be configured about it."""
    hoisted = {output.activation for output in outputs if output.activation is not None}
    scopes = find_scopes(graph, hoisted)
    config = configure(scopes, outputs)
    widths = find_widths(graph, scopes.layer)
    config += (mark_widths(scopes, widths),) if widths else ()
    nodes = live_nodes(scopes)
    nodes = [n for n in nodes if n not in hoisted] + [n for n in nodes if n in hoisted]
    roles = find_roles(graph.all_nodes)
    for node, role in roles.layers.items():
        if node in scopes.layer:
            scopes.layer[node] = replace(scopes.layer[node], role=role)
    root = TreeBuilder(scopes, hoisted).build(nodes, graph.state)
    make_unused(root.place, graph.arguments)
    sources = find_interfaces(root, graph, scopes, nodes)
    return _Root(root, graph, outputs, sources, assign_names(root), hoisted, inputs, roles.values, widths), config


def _frozen(tensors: tuple[TensorPlan, ...]) -> tuple[str, ...]:
    """The keys of parameters that are not trained."""
    return tuple(t.key for t in tensors if t.weight.role == "parameter" and not t.weight.trainable and not t.tied_to)


# ---- bodies


def _bodies(block: Block, model: _Root) -> list[tuple[str, Body, str]]:
    def weight(value: Value) -> str:
        return model.owners.text(value, block.place)

    return [("forward", block_writer(block, model.sources, weight, model.roles, model.numbers).write(), "")]


@dataclass(slots=True)
class _Root:
    """The model's own functions: `forward`, and `logits` where an output ends in a softmax or sigmoid."""

    block: Block
    graph: Graph
    outputs: list[Output]
    sources: SizeSources
    owners: Owners
    hoisted: set[Node]
    inputs: list[str]
    roles: Mapping[Value, str]
    widths: Widths | None

    @property
    def numbers(self) -> Mapping[Node, frozenset[int]]:
        """For each node the numbers that grow with the model's width."""
        return self.widths.literals if self.widths else {}

    def bodies(self) -> list[tuple[str, Body, str]]:
        """(name, body, docstring) of each."""
        items = [i for i in self.block.items if not (isinstance(i, FunctionCall) and i.node in self.hoisted)]
        body = self._write(items, [output.raw for output in self.outputs])
        returned = "the source's outputs, in its order" if len(self.outputs) > 1 else "the source's output"
        if not self.hoisted:
            return [("forward", body, f"Return {returned}.")]
        forward = self._activate(body)
        doc = "The outputs before their final softmax or sigmoid, which the loss is computed on."
        return [("logits", body, doc), ("forward", forward, f"Return {returned}.")]

    def _write(self, items: list[Item], results: list[Value]) -> Body:
        writer = BodyWriter(
            place=self.block.place,
            items=items,
            ext=self.graph.inputs,
            sizes=(),
            results=results,
            sources=self.sources,
            weight=lambda v: self.owners.text(v, self.block.place),
            wanted=self._wanted(),
            roles=self.roles,
            widths=self.numbers,
        )
        return writer.write()

    def _wanted(self) -> dict[Value, str]:
        space = Namespace(variables())
        wanted = dict(zip(self.graph.inputs, self.inputs, strict=True))
        return {v: space.claim("x" if n in variables() else n) for v, n in wanted.items()}

    def _activate(self, body: Body) -> Body:
        """`forward` from `logits`: the final activations applied."""
        call = f"self.logits({', '.join(name for name, _ in body.parameters)})"
        holes = Holes()
        space = Namespace(variables())
        lines: list[Line] = []
        names = [call]
        if len(self.outputs) > 1:
            found = [identifier(name, "output") for name in _output_names(self.graph)]
            names = [space.claim(n if n not in variables() else "output") for n in found]
            lines.append(Line(text=f"{', '.join(names)} = {call}"))
        texts = [self._activated(output, name, holes).text for output, name in zip(self.outputs, names, strict=True)]
        return Body(parameters=body.parameters, lines=lines, result=", ".join(texts), holes=holes)

    def _activated(self, output: Output, name: str, holes: Holes) -> Expr:
        if output.activation is None:
            return Expr(name)
        printer = Printer(tensor=lambda _: Expr(name), size=str, device=str, holes=holes)
        assert next(sizes_in((output.activation.args, output.activation.kwargs)), None) is None
        return printer.node(output.activation)


def _output_names(graph: Graph) -> list[str]:
    names = [value.name for value in graph.outputs]
    return [n if identifier(n, "").isidentifier() else f"output_{k}" for k, n in enumerate(names)]


def _tie(place: Place, attr: str, value: Value, owners: Owners, root: Place) -> Member:
    owner, owner_attr = owners.keys[value]
    text = f"{place.reference(root)}.{attr} = {owner.reference(root)}.{owner_attr}"
    return Member(attr="", text=text, comment="one tensor")


def _classes(model: _Root, symbols: Symbols) -> tuple[tuple[ClassPlan, ...], ConfigField | None]:
    """Every class, the model last, with its ties; and the field that says how many layers there are."""
    root, owners = model.block, model.owners
    bodies = {b.place: _bodies(b, model) for b in blocks_of(root) if b is not root}
    bodies[root.place] = model.bodies()
    repeated = repeated_list(root.place, owners)
    builder = ClassBuilder(bodies, symbols, repeated, model.widths)
    *parts, last = builder.build(root.place)
    ties = tuple(_tie(place, attr, value, owners, root.place) for place, attr, value in owners.ties)
    field = num_layers(repeated) if repeated is not None and builder.is_alike(repeated) else None
    return (*parts, replace(last, members=(*last.members, *ties))), field


# ---- what others read


def _modules(root: Place) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for place in all_places(root):
        names = dict.fromkeys(name for node in place.nodes for name in node.origin)
        if names:
            found[place.key] = tuple(names)
    return found


def _places(root: Place) -> dict[str, str]:
    """Of the modules that have a class in the package; torch's own layers and containers say what they are."""
    written = (p for p in all_places(root) if p.origin and p.layer is None and not p.is_container)
    return {place.key: place.origin for place in written}


def _outputs_of(root: Block, outputs: list[Output]) -> dict[str, str]:
    """Names of values -> the module that returns just that value, in the order of the calls."""
    found: dict[str, str] = {}

    def visit(block: Block) -> None:
        for item in block.items:
            for call in item.calls if isinstance(item, ChainCall) else [item]:
                if isinstance(call, BlockCall) and call.renamed is None:
                    visit(call.block)
                made = outputs_of(call)
                if not isinstance(call, FunctionCall | ControlCall) and len(made) == 1:
                    found.setdefault(made[0].name, call.place.key)

    visit(root)
    if len(outputs) == 1:
        found.setdefault(outputs[0].value.name, "")
    return found
