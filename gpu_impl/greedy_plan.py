"""The closed-form plan of greedy drafting: how much of the target a node hands to each of its children."""
import torch
from torch import Tensor

from .laws import Index, entry, read_declared, read_law, row_sums, take
from .trees import Tree


def greedy_plan(
    tree: Tree, target: Tensor, declared: Tensor | None, batch: Index, node: Index, mass: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Divide the masses a [n] of n nodes between their children and their bonus (arXiv 2605.04543, 2502.18779).

    All children but the youngest are deterministic, the youngest, b, was drawn from its declared row r.  With p the
    target row and Z the total of (r - a p)_+ over the tokens that are not elder children,

        m_b = min(1, a p(b) / r(b)),    m_h = a p(h) (1 - m_b) / Z for an elder h,    rest = (a p - r)_+, 0 on elders.

    If b is deterministic too, r is a point mass and the same formulas give every child y the mass a p(y).  Z is summed
    as it stands: 1 - a + total of (a p - r)_+ is the same number for laws, and far from it for rows that are not quite.

    Returns the masses [n, R] (0 where there is no child), the rest [n, V] and whether all rows read are laws [n].
    Read are the target rows and the declared rows of the youngest children; of the elders' only the entry of their own
    token, which has to be 1.
    """
    law, fine = read_law(target, batch, node)
    owed = law.mul_(mass.unsqueeze(1))
    family = tree.family(batch, node, tree.children.shape[2])
    masses = torch.zeros(tree.children.shape[2], len(law), dtype=torch.float64, device=law.device).t()
    for rank, (child, _) in enumerate(family[:-1]):
        elder = family[rank + 1][1]  # whether there is a younger one
        token = take(tree.tokens, batch, child)
        if declared is not None:
            one = entry(declared, batch, child, token) == 1
            fine = fine & (one if elder is None else one | ~elder)
        carried = owed.gather(1, token.unsqueeze(1)).squeeze(1)
        masses[:, rank] = carried if elder is None else carried * elder
        owed.scatter_(1, token.unsqueeze(1), (carried - masses[:, rank]).unsqueeze(1))

    child, last = tree.youngest(batch, node)
    parent = family[0][1]  # whether there are children at all
    drawn, drawn_fine = read_declared(declared, tree.tokens, batch, child, target.shape[2])
    token = take(tree.tokens, batch, child).unsqueeze(1)
    wanted, offered = owed.gather(1, token).squeeze(1), drawn.gather(1, token).squeeze(1)
    accepts = (wanted / offered).clamp(max=1).nan_to_num(0.0)  # 0 / 0: neither law has the token
    missing = row_sums((drawn - owed).clamp_(min=0))
    masses.mul_(((1 - accepts) / missing).nan_to_num(0.0, posinf=0.0).unsqueeze(1))  # nothing is missing: the youngest has it all
    rest = drawn.neg_().add_(owed).clamp_(min=0)
    if parent is None:
        return masses.scatter_(1, last, accepts.unsqueeze(1)), rest, fine & drawn_fine
    masses.scatter_(1, last, accepts.where(parent, 0.0).unsqueeze(1))
    return masses, rest.where(parent.unsqueeze(1), owed), fine & (drawn_fine | ~parent)
