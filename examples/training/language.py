"""A language to train on: sentences of a random grammar whose words are spelled in several tokens, so that some tokens are certain and some are not.

S -> NP VP end,  NP -> determiner [adjective] noun [preposition NP],  VP -> verb [NP].  Words of a class have Zipf weights in an order that depends on
the word that governs them (a verb on its noun, an object on its verb), which a model has to remember over several tokens.
"""

import random
from collections.abc import Iterator

VOCABULARY, END = 64, 0
SIZES = {"determiner": 3, "adjective": 8, "noun": 20, "verb": 14, "preposition": 4}


class Language:
    """One random language; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"language {seed}")
        spelled: set[tuple[int, ...]] = set()
        self._words: dict[str, list[tuple[int, ...]]] = {}
        for kind, size in SIZES.items():
            self._words[kind] = []
            while len(self._words[kind]) < size:
                word = tuple(self._rng.randrange(1, VOCABULARY) for _ in range(self._rng.choice((1, 2, 3, 4))))
                if word not in spelled:
                    spelled.add(word)
                    self._words[kind].append(word)
        self._seed = seed

    def text(self, length: int, rng: random.Random) -> list[int]:
        """``length`` tokens of sentences, from the start of one."""
        tokens: list[int] = []
        while len(tokens) < length:
            tokens += [token for word in self._sentence(rng) for token in word]
            tokens.append(END)
        return tokens[:length]

    def _sentence(self, rng: random.Random) -> Iterator[tuple[int, ...]]:
        subject = yield from self._phrase(rng, ())
        verb = self._word("verb", subject, rng)
        yield verb
        if rng.random() < 0.7:
            yield from self._phrase(rng, verb)

    def _phrase(self, rng: random.Random, governor: tuple[int, ...], nested: bool = False) -> Iterator[tuple[int, ...]]:
        noun = self._word("noun", governor, rng)
        yield self._word("determiner", noun, rng)
        if rng.random() < 0.4:
            yield self._word("adjective", noun, rng)
        yield noun
        if not nested and rng.random() < 0.2:
            preposition = self._word("preposition", noun, rng)
            yield preposition
            yield from self._phrase(rng, preposition, nested=True)
        return noun

    def _word(self, kind: str, governor: tuple[int, ...], rng: random.Random) -> tuple[int, ...]:
        words = self._words[kind]
        order = random.Random(f"{self._seed} {kind} {governor}").sample(words, len(words))
        return rng.choices(order, [1 / (rank + 1) ** 1.8 for rank in range(len(order))])[0]
