"""How many draft nodes pay?  A small drafter is trained, its logits recorded, its trees built, their size chosen, and both checked exactly.

The language is a random chain of second order; the drafter, like a block-diffusion one, predicts the next eight tokens independently of each other
from the last two.  Takes about ten seconds on a CPU.
"""

from time import perf_counter

import torch
from torch import Tensor, nn

from draftproof.gpu_impl.caddtree import caddtree
from draftproof.gpu_impl.ddtree import DraftTrees, ddtree
from draftproof.gpu_impl.predraw_follow import predraw_follow
from draftproof.oracle.logits import meaning
from draftproof.reference.budgets import RoundCost, full_scan, gains
from draftproof.reference.budgets.convex_fit import convex_fit
from draftproof.reference.budgets.profiler import profile
from draftproof.reference.models import marginal

VOCABULARY, DEPTHS, NODES, ROUNDS = 48, 8, 64, 200


def language(generator: torch.Generator) -> Tensor:
    """[V, V, V] laws of the next token after each pair: a few likely ones."""
    return torch.softmax(4.0 * torch.randn(VOCABULARY, VOCABULARY, VOCABULARY, generator=generator), -1)


def write_text(laws: Tensor, length: int, generator: torch.Generator) -> Tensor:
    """``length`` tokens of each of 64 texts."""
    text = [torch.zeros(64, dtype=torch.int64), torch.arange(64) % VOCABULARY]
    while len(text) < length:
        text.append(torch.multinomial(laws[text[-2], text[-1]], 1, generator=generator).squeeze(1))
    return torch.stack(text, 1)


class Drafter(nn.Module):
    """Logits [B, L, V] of the next L tokens, each given the last two only."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY * VOCABULARY, 64)
        self.head = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, DEPTHS * VOCABULARY))

    def forward(self, pair: Tensor) -> Tensor:
        logits: Tensor = self.head(self.embed(pair[:, 0] * VOCABULARY + pair[:, 1]))
        return logits.view(-1, DEPTHS, VOCABULARY)


def train(drafter: Drafter, text: Tensor, steps: int, generator: torch.Generator) -> float:
    """The last loss, in nats a token."""
    windows = text.unfold(1, DEPTHS + 2, 1).flatten(0, 1)
    optimiser = torch.optim.Adam(drafter.parameters(), lr=3e-3)
    loss = torch.zeros(())
    for _ in range(steps):
        batch = windows[torch.randint(len(windows), (256,), generator=generator)]
        loss = nn.functional.cross_entropy(drafter(batch[:, :2]).flatten(0, 1), batch[:, 2:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return float(loss.detach())


def target_rows(laws: Tensor, trees: DraftTrees, pairs: Tensor) -> Tensor:
    """[B, N, V]: the language's law after every node."""
    tokens = trees.tokens.clone()
    tokens[:, 0] = pairs[:, 1]
    before = tokens.gather(1, trees.parents)
    before[:, 0] = pairs[:, 0]
    return laws[before, tokens]


def measured_cost(generator: torch.Generator) -> RoundCost:
    """A stand-in for an engine, one wide layer, profiled and fitted, in milliseconds; a drafter pass costs as much as one query token."""
    weights = torch.randn(1024, 4096, generator=generator)
    queries = torch.randn(NODES + 1, 1024, generator=generator)
    sizes = [*range(0, 16, 3), *range(16, NODES + 1, 8)]
    seconds = profile(lambda tokens: queries[:tokens] @ weights, sizes, warmups=2, repeats=15)
    table = convex_fit(sizes, [1000 * time for time in seconds])
    return RoundCost(table[0], table)


def main() -> None:
    start, generator = perf_counter(), torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    laws = language(generator)
    drafter = Drafter()
    loss = train(drafter, write_text(laws, 300, generator), 400, generator)
    pairs = write_text(laws, 40, generator)[:, -14:].unfold(1, 2, 2).flatten(0, 1)[:ROUNDS]
    with torch.no_grad():
        logits = drafter(pairs)
    cost = measured_cost(generator)
    draft, verify = float(cost.draft), torch.tensor([float(entry) for entry in cost.verify], dtype=torch.float64)
    passes = ", ".join(f"{float(verify[tokens - 1]):.3f}" for tokens in (1, 16, 65))
    print(f"drafter trained to {loss:.2f} nats a token; a pass of 1, 16, 65 query tokens takes {passes} ms")

    everything = ddtree(logits, NODES)
    chosen, budgets = caddtree(logits, draft, verify)
    print(f"\n{'tree':<18}{'nodes':>6}{'drafter expects':>17}{'accepted':>10}{'sampled':>9}{'tokens / s':>12}")
    rows = [(f"{nodes} nodes", everything.truncated(torch.full((ROUNDS,), nodes))) for nodes in (0, 4, 16, NODES)]
    for name, trees in [*rows, ("CaDDTree", chosen)]:
        count = trees.valid.sum(1) - 1
        expects = (trees.scores[:, 1:].exp().sum(1)).mean()
        target = target_rows(laws, trees, pairs).double()
        mass = accepted_mass(trees, target)
        _, sampled = predraw_follow(trees.tokens, trees.parents, trees.valid, target, generator=generator)
        rate = (1 + mass).sum() / (draft + verify[count]).sum()
        print(f"{name:<18}{count.double().mean():>6.1f}{expects:>17.3f}{mass.mean():>10.3f}{sampled.double().mean():>9.3f}{1000 * rate:>12.0f}")

    worst = 0.0
    for row in range(12):  # exactly, on the bits that the builder was given
        marginals = [law for law in (meaning(values, "logits") for values in logits[row].double().tolist()) if law]
        exact = gains(marginal(marginals), DEPTHS, NODES)
        worst = max(worst, abs(float(sum(exact)) - float(everything.scores[row, 1:].exp().sum())))
        assert full_scan(exact, cost) == int(budgets[row]), "another size is best"
    print(f"\n12 trees against exact arithmetic: coverage differs by {worst:.0e} at most, sizes are the best ones; {perf_counter() - start:.0f} s")


def accepted_mass(trees: DraftTrees, target: Tensor) -> Tensor:
    """[B] expected accepted tokens: the target's mass of all nodes."""
    step = target.gather(1, trees.parents.unsqueeze(2).expand_as(target)).gather(2, trees.tokens.unsqueeze(2)).squeeze(2)
    step = step.where(trees.depth > 0, 1.0)
    mass, ancestor = torch.ones_like(step), torch.arange(step.shape[1]).expand(len(step), -1)
    for _ in range(DEPTHS):
        mass = mass * step.gather(1, ancestor)
        ancestor = trees.parents.gather(1, ancestor)
    return mass.where(trees.depth > 0, 0).sum(1)


if __name__ == "__main__":
    main()
