import pytest
import torch

from draftproof.gpu_impl.frontier import frontier
from draftproof.gpu_impl.training import laws, read_tree
from draftproof.gpu_impl.tree_exit import exit_factors
from draftproof.reference.training.smoothed import candidates
from draftproof.reference.trees import level_order

from .training_batches import VOCABULARY, contexts, tensors

torch.set_num_threads(1)


@pytest.mark.parametrize("seed", range(5))
def test_frontier(seed: int) -> None:
    """All missing children with their masses, heaviest first; the first few when asked for few."""
    batch = contexts(seed)
    logits, (tokens, parents, valid, target) = tensors(batch)
    tree, rows = read_tree(tokens, parents, valid, target), laws(target, 1.0)
    reach = exit_factors(tree, rows)[0]  # type: ignore[arg-type]
    found, few = frontier(tree, reach, rows, logits), frontier(tree, reach, rows, logits, 3)
    for row, one in enumerate(batch):
        paths = [node.path for node in level_order(one.root)]
        wanted = {path: float(mass) for path, mass in candidates(one, VOCABULARY).items() if path not in paths}
        got = [
            ((*paths[int(above)], int(token)), float(mass))
            for above, token, mass, real in zip(*(part[row] for part in found), strict=True)
            if real
        ]
        assert dict(got) == pytest.approx(wanted) and len(got) == len(wanted)
        assert [mass for _, mass in got] == sorted((mass for _, mass in got), reverse=True)
        assert few.mass[row].tolist() == found.mass[row, :3].tolist()
