"""A toy language model behind the calls of an engine: what generators are judged on.

The law after a prefix is a hash of the whole prefix, so a state that is stale, incomplete or out of order changes every later row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from draftproof.reference.models import Model, Prefix
from draftproof.reference.rounds import toy_model


@dataclass(frozen=True)
class Toy:
    """A generation task: emit ``length`` tokens after ``prompt`` (at least one token), or fewer when ``eos`` comes first."""

    name: str
    vocabulary: int
    target: Model
    draft: Model
    prompt: Prefix
    length: int
    eos: int | None = None


def toys() -> tuple[Toy, ...]:
    """The tasks that generators are judged on by default."""
    two = Toy("toy-two-tokens", 2, toy_model(1, 2), toy_model(2, 2), (1,), 4)
    three = Toy("toy-three-tokens", 3, toy_model(3, 3), toy_model(4, 3), (2, 0), 3)
    stops = Toy("toy-eos", 3, toy_model(29, 3, zeros=2), toy_model(129, 3, zeros=2), (1,), 3, eos=2)
    return two, three, stops


class Engine:
    """One generation.  The cache holds the state of the prompt except its last token, which is the root of the first round.

    A round drafts from ``draft``, has the drafted tree scored by ``target``, and keeps the nodes it accepts, root included, by ``keep``.  Its bonus
    token is the root of the next round: emitted, and not in the cache until it is scored and kept.
    """

    def __init__(self, toy: Toy):
        self.vocabulary, self.prompt, self.length, self.eos = toy.vocabulary, toy.prompt, toy.length, toy.eos
        self._toy, self._cache = toy, toy.prompt[:-1]
        self._scored: list[int] = []

    def draft(self, path: Sequence[int]) -> list[float]:
        """Draft row after the cache and ``path``, which starts with the root's token.  The draft state is read only."""
        return self._row(self._toy.draft, (*self._cache, *map(self._token, path)))

    def target(self, tokens: Sequence[int], parents: Sequence[int]) -> list[list[float]]:
        """Target rows after every node of a tree, in one pass.  Node 0 is the root; a parent comes before its children, the root is its own.

        A token of -1 is padding: it has rows, which mean nothing.
        """
        paths: list[Prefix] = []
        if not len(tokens) or len(tokens) != len(parents):
            raise ValueError(f"{len(tokens)} tokens and {len(parents)} parents: a tree has a root, and one parent for every token")
        for node, (token, parent) in enumerate(zip(tokens, parents, strict=True)):
            if node and not 0 <= int(parent) < node:
                raise ValueError(f"node {node} has parent {parent}: parents come before their children")
            paths.append((*(paths[int(parent)] if node else ()), self._token(token, least=-1)))
        self._scored = [int(token) for token in tokens]
        return [self._row(self._toy.target, (*self._cache, *path)) for path in paths]

    def keep(self, nodes: Sequence[int]) -> None:
        """Append the state of these nodes of the last ``target`` pass to the cache, in the order given; what is not kept is rolled back."""
        for node in nodes:
            if not 0 <= int(node) < len(self._scored):
                raise ValueError(f"node {node} cannot be kept: the last pass scored {len(self._scored)} nodes, and keeping ends it")
        self._cache = (*self._cache, *(self._scored[int(node)] for node in nodes))
        self._scored = []

    def _token(self, token: int, least: int = 0) -> int:
        if not least <= int(token) < self.vocabulary:
            raise ValueError(f"{token} is not a token below {self.vocabulary}")
        return int(token)

    def _row(self, model: Model, prefix: Prefix) -> list[float]:
        law = model(prefix)
        return [float(law[token]) for token in range(self.vocabulary)]
