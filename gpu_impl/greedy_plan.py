"""The closed-form plan of greedy drafting: how much of the target a node hands to each of its children."""
import torch
from torch import Tensor

from .laws import read_declared, read_law
from .trees import Tree


def greedy_plan(
    tree: Tree, target: Tensor, declared: Tensor | None, batch: Tensor, node: Tensor, mass: Tensor
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
    owed = mass.unsqueeze(1) * law
    children = tree.children[batch, node]
    youngest = (children > 0).sum(1) - 1  # rank; -1 at a leaf
    masses = torch.zeros(children.shape, dtype=torch.float64, device=law.device)
    for rank in range(children.shape[1] - 1):
        elder, child = rank < youngest, children[:, rank]
        token = tree.tokens[batch, child]
        if declared is not None:
            fine = fine & ((declared[batch, child, token] == 1) | ~elder)
        carried = owed.gather(1, token.unsqueeze(1)).squeeze(1)
        masses[:, rank] = carried.where(elder, 0.0)
        owed.scatter_(1, token.unsqueeze(1), torch.where(elder, 0.0, carried).unsqueeze(1))

    parent = youngest >= 0
    last = youngest.clamp(min=0).unsqueeze(1)
    child = children.gather(1, last).squeeze(1)
    drawn, drawn_fine = read_declared(declared, tree.tokens, batch, child, target.shape[2])
    token = tree.tokens[batch, child].unsqueeze(1)
    wanted, offered = owed.gather(1, token).squeeze(1), drawn.gather(1, token).squeeze(1)
    accepts = torch.where(wanted < offered, wanted / offered, (wanted > 0).double())
    missing = (drawn - owed).clamp(min=0).sum(1)
    masses = masses * torch.where(missing > 0, (1 - accepts) / missing, 0.0).unsqueeze(1)
    masses.scatter_(1, last, torch.where(parent, accepts, 0.0).unsqueeze(1))
    rest = (owed - drawn).clamp(min=0).where(parent.unsqueeze(1), owed)
    return masses, rest, fine & (drawn_fine | ~parent)
