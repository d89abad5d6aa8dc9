"""Integer maximum flow from candidate sets to their tokens: Dinic's algorithm on a network of three layers.

Source -> set S (capacity supply[S]) -> token y in S (no bound) -> sink (capacity demand[y]).  Integers of any size, so the result is exact.
"""

from collections.abc import Sequence

Flow = list[dict[int, int]]
"""flow[i][y]: what set number i sends to token number y; entries are positive."""


def maximum_flow(sets: Sequence[Sequence[int]], supply: Sequence[int], demand: Sequence[int], start: Flow | None = None) -> tuple[Flow, set[int]]:
    """A maximum flow and the tokens on the source side of a minimum cut.

    ``start`` is a feasible flow to augment: what a token receives never drops on the way.
    """
    network = _Network(sets, supply, demand, start or [{} for _ in sets])
    network.fill()
    while network.layers():
        network.saturate()
    return network.flow, set(network.level_of_token)


class _Network:
    """The residual network.  ``left`` and ``wanted``: what sets can still send and tokens still take; ``senders``: who sends to a token."""

    def __init__(self, sets: Sequence[Sequence[int]], supply: Sequence[int], demand: Sequence[int], start: Flow):
        self.sets, self.supply, self.demand = sets, supply, demand
        self.flow: Flow = [{} for _ in sets]
        self.left, self.wanted = list(supply), list(demand)
        self.senders: list[set[int]] = [set() for _ in demand]
        for number, row in enumerate(start):
            for token, amount in row.items():
                self.left[number] -= amount
                self.wanted[token] -= amount
                self._send(number, token, amount)

    def _send(self, number: int, token: int, amount: int) -> None:
        self.flow[number][token] = self.flow[number].get(token, 0) + amount
        self.senders[token].add(number)

    def _take_back(self, number: int, token: int, amount: int) -> None:
        self.flow[number][token] -= amount
        if not self.flow[number][token]:
            del self.flow[number][token]
            self.senders[token].discard(number)

    def fill(self) -> None:
        """A greedy start, the scarcest tokens first; it leaves little to augment."""
        offered = [0] * len(self.demand)
        for members, amount in zip(self.sets, self.supply, strict=True):
            for token in members:
                offered[token] += amount
        abundance = [(most << 32) // needed if needed else 0 for most, needed in zip(offered, self.demand, strict=True)]
        for number, members in enumerate(self.sets):
            for token in sorted(members, key=abundance.__getitem__):
                if amount := min(self.left[number], self.wanted[token]):
                    self.left[number] -= amount
                    self.wanted[token] -= amount
                    self._send(number, token, amount)

    def layers(self) -> bool:
        """Distances from the source, up to the nearest token that still wants something; False when there is none."""
        self.level_of_set = {number: 0 for number, amount in enumerate(self.left) if amount}
        self.level_of_token: dict[int, int] = {}
        layer, depth, reached = list(self.level_of_set), 0, False
        while layer and not reached:
            tokens = []
            for number in layer:
                for token in self.sets[number]:
                    if token not in self.level_of_token:
                        self.level_of_token[token] = depth + 1
                        tokens.append(token)
                        reached = reached or self.wanted[token] > 0
            layer, depth = [], depth + 2
            for token in tokens:
                for number in self.senders[token]:
                    if number not in self.level_of_set:
                        self.level_of_set[number] = depth
                        layer.append(number)
        return reached

    def saturate(self) -> None:
        """Augment along shortest paths until there are no more of them."""
        sets, tokens = self.level_of_set, self.level_of_token
        self.untried = {number: [token for token in self.sets[number] if tokens.get(token) == level + 1] for number, level in sets.items()}
        self.returns = {token: [number for number in self.senders[token] if sets.get(number) == level + 1] for token, level in tokens.items()}
        for number, amount in enumerate(self.left):
            if amount:
                self.left[number] -= self._push(number, amount)

    def _push(self, number: int, amount: int) -> int:
        """Send up to ``amount`` more from a set; return how much found its way."""
        sent = 0
        while self.untried[number] and sent < amount:
            token = self.untried[number][-1]
            through = min(amount - sent, self.wanted[token])
            self.wanted[token] -= through
            while self.returns[token] and sent + through < amount:
                other = self.returns[token][-1]
                moved = self._push(other, min(amount - sent - through, self.flow[other].get(token, 0)))
                if moved:
                    self._take_back(other, token, moved)
                    through += moved
                if sent + through < amount:
                    self.returns[token].pop()
            if through:
                self._send(number, token, through)
                sent += through
            if sent < amount:
                self.untried[number].pop()
        return sent
