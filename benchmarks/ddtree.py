"""DDTree for a batch: our batched selection beside a best-first heap per row in Python, from the same top-K; and where the whole time goes.

    python benchmarks/ddtree.py [--rows 32] [--nodes 64 256 1024] [--threads 1] [--repeats 5] [--json OUT]

Times are the best of the repeats, in milliseconds.  The heap is given lists of log probabilities, so that none of its time is conversion; what
conversion costs is shown apart.  "whole" is logits to trees, without the mask; "floor" is one read of the logits.  Ends
with the node sets of float32 and bfloat16 logits against float64.
"""

import argparse
import json
from collections.abc import Callable
from heapq import heappop, heappush
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from draftproof.gpu_impl.ddtree import DraftTrees, ddtree
from draftproof.gpu_impl.marginals import Marginals, read_marginals, surprise
from draftproof.gpu_impl.selection import Selection, select
from draftproof.gpu_impl.tree_mask import tree_mask

DEPTHS, VOCABULARY = 15, 151_936


def heap_tree(scores: list[list[float]], nodes: int) -> tuple[list[int], list[int], list[int]]:
    """(depth, rank, parent) of the nodes in best-first order: the usual builder, one row at a time; scores [L][K] are log probabilities."""
    depth_of, rank_of, parent_of = [0], [0], [0]
    frontier = [(-scores[0][0], (0,), 0, 1, 0)]
    while frontier and len(depth_of) <= nodes:
        cost, ranks, parent, depth, rank = heappop(frontier)
        node, row = len(depth_of), scores[depth - 1]
        depth_of.append(depth)
        rank_of.append(rank)
        parent_of.append(parent)
        if rank + 1 < len(row):
            heappush(frontier, (cost + row[rank] - row[rank + 1], (*ranks[:-1], rank + 1), parent, depth, rank + 1))
        if depth < len(scores):
            heappush(frontier, (cost - scores[depth][0], (*ranks, 0), node, depth + 1, 0))
    return depth_of[1:], rank_of[1:], parent_of[1:]


def logits_of(shape: str, rows: int) -> Tensor:
    """"random": Gaussian, flat; "peaked": a few likely tokens a depth, less sure with depth, as a trained drafter has."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(rows, DEPTHS, VOCABULARY, generator=generator) * 2
    if shape == "peaked":
        likely = torch.randint(VOCABULARY, (rows, DEPTHS, 20), generator=generator)
        bonus = 14 - 0.3 * torch.arange(DEPTHS).view(1, -1, 1) - 4 * torch.rand(likely.shape, generator=generator).cumsum(2)
        logits.scatter_add_(2, likely, bonus)
    return logits


def log_probabilities(marginals: Marginals) -> Tensor:
    """[B, L, K] float64."""
    chain = marginals.chain
    surprises = torch.diff(chain, dim=1, prepend=torch.zeros_like(chain[:, :1]))
    return marginals.logits.double() - marginals.logits[:, :, :1].double() - surprises.unsqueeze(2)


def best(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Milliseconds of the fastest call, and its result."""
    times, result = [], None
    for _ in range(repeats):
        start = perf_counter()
        result = call()
        times.append(1e3 * (perf_counter() - start))
    return min(times), result


def compare(logits: Tensor, nodes: int, repeats: int) -> dict[str, Any]:
    """Times of one budget; raises AssertionError when the node lists differ."""
    width = min(nodes, logits.shape[2])
    marginals = read_marginals(logits, width)
    scores = log_probabilities(marginals)
    convert, lists = best(scores.tolist, 1)
    heap, trees = best(lambda: [heap_tree(row, nodes) for row in lists], max(1, repeats // 2))
    ours, chosen = best(lambda: select(marginals, nodes), 2 * repeats)
    same = all(_same(chosen, row, tree) for row, tree in enumerate(trees))
    assert same, f"node lists differ at {nodes} nodes"

    top = logits.amax(2)
    top_k, _ = best(lambda: logits.topk(width, dim=2), 2)
    normaliser, _ = best(lambda: surprise(logits, top), 2)
    whole, built = best(lambda: ddtree(logits, nodes), 2)
    mask, _ = best(lambda: tree_mask(built.parents, built.depth), 2)
    floor, _ = best(logits.sum, 3)
    figures = {"heap": heap, "ours": ours, "convert": convert, "top_k": top_k, "normaliser": normaliser, "mask": mask, "whole": whole, "floor": floor}
    return {"nodes": nodes, **{name: round(value, 2) for name, value in figures.items()}}


def _same(chosen: Selection, row: int, tree: tuple[list[int], list[int], list[int]]) -> bool:
    depth, rank, parent = tree
    return chosen.depth[row].tolist() == depth and chosen.rank[row].tolist() == rank and chosen.parent[row].tolist() == parent


def difference(logits: Tensor, nodes: int) -> tuple[int, float]:
    """Nodes of our trees that are not in those of float64 arithmetic on the same bits, and the coverage that costs, over all rows."""
    exact = torch.log_softmax(logits.double(), -1)
    top = exact.topk(nodes, -1)
    trees, differing, lost = ddtree(logits, nodes), 0, 0.0
    for row, (scores, order) in enumerate(zip(top.values.tolist(), top.indices.tolist(), strict=True)):
        theirs = _paths([order[d - 1][r] for d, r in zip(*heap_tree(scores, nodes)[:2], strict=True)], heap_tree(scores, nodes)[2])
        mine = _paths(*_row(trees, row))
        differing += len(mine - theirs)
        lost = max(lost, abs(_mass(exact[row], theirs - mine) - _mass(exact[row], mine - theirs)))
    return differing, lost


def _row(trees: DraftTrees, row: int) -> tuple[list[int], list[int]]:
    return trees.tokens[row, 1:].tolist(), trees.parents[row, 1:].tolist()


def _paths(tokens: list[int], parents: list[int]) -> set[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for token, parent in zip(tokens, parents, strict=True):
        found.append((*found[parent], token))
    return set(found[1:])


def _mass(scores: Tensor, paths: set[tuple[int, ...]]) -> float:
    return sum(float(torch.stack([scores[depth, token] for depth, token in enumerate(path)]).sum().exp()) for path in paths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--nodes", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{options.rows} rows, {DEPTHS} depths, {VOCABULARY} tokens, float32, {options.threads} threads; milliseconds")
    parts = "".join(f"{name:>9}{'share':>6}" for name in ("top-K", "normal.", "select", "mask", "floor"))
    print(f"{'logits':<8}{'nodes':>6}{'heap':>8}{'ours':>7}{'ratio':>7}{'whole':>8}   {parts}")
    results = []
    for shape in ("random", "peaked"):
        logits = logits_of(shape, options.rows)
        for nodes in options.nodes:
            found = compare(logits, nodes, options.repeats)
            results.append({"logits": shape, **found})
            columns = (found[name] for name in ("top_k", "normaliser", "ours", "mask", "floor"))
            parts = "".join(f"{time:>9.1f}{time / found['whole']:>6.0%}" for time in columns)
            times = f"{found['heap']:>8.1f}{found['ours']:>7.1f}{found['heap'] / found['ours']:>6.1f}x{found['whole']:>8.0f}"
            print(f"{shape:<8}{nodes:>6}{times}   {parts}", flush=True)
    print("shares are of the whole, which looks at 128 tokens a depth first, and at more where its certificate asks; top-K is for as many as nodes")
    for shape in ("random", "peaked"):
        for dtype in (torch.float32, torch.bfloat16):
            differing, lost = difference(logits_of(shape, 2).to(dtype), 1024)
            print(f"{shape}, {str(dtype)[6:]}: {differing} of 2 x 1024 nodes differ from float64, coverage by {lost:.1e}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
