"""Tree replay for a batch: our REPLAY beside a replay per row in Python, on the same frozen topologies; and where the time of a round goes.

    python benchmarks/replay.py [--rows 32] [--nodes 64] [--threads 1] [--repeats 3] [--verify] [--json OUT]

Times are the best of the repeats, in milliseconds, on Gaussian and on peaked logits [rows, 15, 151936].  The replay per row is what one writes
first: for every node with children a draw of its children without replacement, from a softmax that is computed once a depth ("multinomial") or by
Gumbel-top-k from the logits ("gumbel").  "floor" is one read of the draft logits.  --verify adds both verifiers on random target logits.
"""

import argparse
import json
from pathlib import Path

import torch
from ddtree import VOCABULARY, best, logits_of  # the benchmark beside this one
from torch import Tensor

from draftproof.gpu_impl.ddtree import DraftTrees
from draftproof.gpu_impl.drafters import Draft
from draftproof.gpu_impl.recursive_rejection import recursive_rejection
from draftproof.gpu_impl.replay import replay
from draftproof.gpu_impl.traversal import traversal
from draftproof.gpu_impl.tsubame import plan, verify


def per_row(logits: Tensor, topology: DraftTrees, gumbel: bool) -> list[list[int]]:
    """The usual replay: row by row, node by node.  Returns the tokens of each row, 0 at the root."""
    found = []
    for row, parents in enumerate(topology.parents.tolist()):
        children: list[list[int]] = [[] for _ in parents]
        for node in range(1, len(parents)):
            if parents[node] != node:
                children[parents[node]].append(node)
        tokens, depth, rows = [0] * len(parents), topology.depth[row].tolist(), dict[int, Tensor]()
        for node, below in enumerate(children):
            if not below:
                continue
            at = depth[node]
            if gumbel:
                noise = torch.empty(VOCABULARY).exponential_().log()
                drawn = (logits[row, at] - noise).topk(len(below)).indices.tolist()
            else:
                if at not in rows:
                    rows[at] = logits[row, at].softmax(-1)
                drawn = torch.multinomial(rows[at], len(below)).tolist()
            for child, token in zip(below, drawn, strict=True):
                tokens[child] = token
        found.append(tokens)
    return found


def measure(shape: str, rows: int, nodes: int, repeats: int, verifiers: bool) -> dict[str, float]:
    logits = logits_of(shape, rows)
    draft = Draft(logits, torch.zeros(rows, dtype=torch.int64))
    times: dict[str, float] = {}
    times["floor"], _ = best(lambda: logits.amax(), repeats)
    times["plan"], topology = best(lambda: plan(draft, nodes), repeats)
    inner = (topology.parents[:, 1:] != torch.arange(1, nodes + 1)).sum() / rows
    times["replay"], replayed = best(lambda: replay(draft, topology), repeats)
    times["replay, gumbel"], _ = best(lambda: replay(draft, topology, gumbel=True), 1)
    times["per row, multinomial"], _ = best(lambda: per_row(logits, topology, gumbel=False), 1)
    times["per row, gumbel"], _ = best(lambda: per_row(logits, topology, gumbel=True), 1)
    assert replayed.valid.all()
    if verifiers:
        target = torch.randn(rows, nodes + 1, VOCABULARY, generator=torch.Generator().manual_seed(1)) * 2
        times["verify, recursive_rejection"], _ = best(lambda: verify(replayed, target, recursive_rejection), 1)
        times["verify, traversal"], _ = best(lambda: verify(replayed, target, traversal), 1)
    with_children = torch.zeros_like(topology.valid).scatter(1, topology.parents, topology.valid).sum() / rows
    print(f"{shape}: {rows} rows, {inner:.0f} slots and {with_children:.0f} nodes with children a row, depth {int(topology.depth.amax())}")
    for name, time in times.items():
        print(f"  {name:<30} {time:10.1f} ms   {times['per row, multinomial'] / time:6.1f}x of the replay per row")
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    found = {shape: measure(shape, options.rows, options.nodes, options.repeats, options.verify) for shape in ("random", "peaked")}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
