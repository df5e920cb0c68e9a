"""A round as a networkx graph: everything the tree shows, node by node, before any drawing.

Kept nodes are 0, 1, ... as in `Round.nodes`. What is drawn beside them has a name of its own: the
token that the round emitted is "emit", a pruned child is "ghost PARENT.SLOT".
"""

from typing import Any

import networkx as nx

from rheo.trace.schema import Ghost, Round, Step, Visit

NodeName = int | str
DrawnNode = dict[str, Any]  # the attributes that `of` gives a node


def of(round: Round, ghosts: bool = False) -> nx.DiGraph:
    """Return the draft tree of a round and, as one more leaf, the token its walk emitted.

    Node attributes: kind, token, parent, slot, depth, proxy, true, score, p, accept and verdict:
    "accept", "reject", "unreached" (the walk looked at its parent and decided before it came to
    this child), "unvisited" (the walk never looked at its parent), "emit" or "ghost".
    Siblings come in slot order, the emitted token behind them.
    """
    graph = nx.DiGraph(round=round.index)
    verdicts = _verdicts(round)
    for i, node in enumerate(round.nodes):
        graph.add_node(
            i,
            kind=node.kind,
            token=node.token,
            parent=node.parent,
            slot=node.slot,
            depth=node.depth,
            proxy=node.proxy,
            true=node.true,
            score=node.score,
            p=node.p,
            accept=node.accept,
            verdict=verdicts[i],
        )
    for child in sorted(range(1, len(round.nodes)), key=lambda i: round.nodes[i].slot):
        graph.add_edge(round.nodes[child].parent, child)
    if ghosts:
        _add_ghosts(graph, round)
    _add_emitted(graph, round)
    return graph


def _stop(round: Round) -> tuple[Visit, Step] | None:
    """Return the visit at which the walk ended and its step that emitted, if there is one."""
    if round.visits and round.visits[-1].steps and round.visits[-1].steps[-1].rule == "emit":
        return round.visits[-1], round.visits[-1].steps[-1]
    return None


def _verdicts(round: Round) -> list[str]:
    verdicts = ["unvisited"] * len(round.nodes)
    verdicts[0] = "root"
    for visit in round.visits:
        for child in round.rows_below(visit.node):
            verdicts[child] = "unreached"
        for step in visit.steps:
            if step.child is not None:
                verdicts[step.child] = step.verdict
    return verdicts


def _add_ghosts(graph: nx.DiGraph, round: Round) -> None:
    """Add pruned children, each among its siblings by slot."""
    for parent, node in enumerate(round.nodes):
        if not node.ghosts:
            continue
        family = list(graph.successors(parent))
        graph.remove_edges_from([(parent, child) for child in family])
        for ghost in node.ghosts:
            name = _ghost_name(parent, ghost)
            graph.add_node(
                name,
                kind="ghost",
                token=ghost.token,
                parent=parent,
                slot=ghost.slot,
                depth=node.depth + 1,
                proxy=ghost.proxy,
                verdict="ghost",
            )
            family.append(name)
        for child in sorted(family, key=lambda name: graph.nodes[name]["slot"]):
            graph.add_edge(parent, child)


def pruned(round: Round, name: NodeName) -> tuple[int, Ghost]:
    """Return the parent of a pruned child and its record, by its name in the graph.

    Raises:
        ValueError: there is no such child.
    """
    for parent, node in enumerate(round.nodes):
        for ghost in node.ghosts:
            if name == _ghost_name(parent, ghost):
                return parent, ghost
    raise ValueError("no such pruned child")


def is_pruned(name: NodeName) -> bool:
    """Tell whether a name in the graph is a pruned child's."""
    return isinstance(name, str) and name.startswith("ghost ")


def _ghost_name(parent: int, ghost: Ghost) -> str:
    return f"ghost {parent}.{ghost.slot}"


def _add_emitted(graph: nx.DiGraph, round: Round) -> None:
    ended = _stop(round)
    if ended is None:
        return
    visit, step = ended
    graph.add_node(
        "emit",
        kind="bonus" if round.is_leaf(visit.node) else "residual",
        token=step.token,
        parent=visit.node,
        slot=len(round.nodes),
        depth=round.nodes[visit.node].depth + 1,
        p=step.p,
        verdict="emit",
    )
    graph.add_edge(visit.node, "emit")
