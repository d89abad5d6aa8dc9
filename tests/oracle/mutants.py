"""Malformed documents: seeded mutations of a valid one, in its structure and in its bytes."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**40, -(10**40), 0.5, -0.0, 1e308, 1e-320, float("nan"), float("inf"), -float("inf")),
    *("", " ", "0", "-1", "1/0", "0/0", "3/8", "1e999999999", "9" * 5000, "1_000", "٣", "NaN", "\ud800", "\0", "../../etc/passwd", "\x1b]0;x\x07"),
    *([], {}, [[]], [None], {"": ""}, [[[[[[]]]]]], [0] * 3000, {"scheme": "chain"}, [1, "1", 1.0]),
)
RAW = (
    *(b"", b"\0", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\r", b"\n", b'"', b"\\"),
    *(b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"-Infinity", b"1e400", b"//"),
)


def mutants(document: Any, seed: int) -> Iterator[bytes]:
    """Endlessly many texts near ``document``."""
    rng = random.Random(seed)
    while True:
        yield rng.choice((_restructured, _restructured, _restructured, _garbled, _special))(document, rng)


def _restructured(document: Any, rng: random.Random) -> bytes:
    """Some value replaced, removed, doubled or swapped."""
    changed = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2))):
        places = list(_places(changed))
        if not places:
            break
        holder, key = rng.choice(places)
        action = rng.randrange(5)
        if action == 0:
            del holder[key]
        elif action == 1 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif action == 2 and isinstance(holder, dict):
            holder[rng.choice((key + "x", key.upper(), "", "\ud800", "__class__"))] = holder.pop(key)
        elif action == 3:
            other, place = rng.choice(places)
            holder[key] = copy.deepcopy(other[place])
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    return json.dumps(changed).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(items):
        yield value, key
        yield from _places(part)


def _garbled(document: Any, rng: random.Random) -> bytes:
    """Cut, or with bytes put in or left out."""
    text = bytearray(json.dumps(document).encode())
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(len(text) + 1)
        text[at : at + rng.choice((0, 1, 1, 5, len(text)))] = rng.choice(RAW)
    return bytes(text)


def _special(document: Any, rng: random.Random) -> bytes:
    text = json.dumps(document)
    first = next(iter(document)) if isinstance(document, dict) and document else "x"
    return rng.choice(
        (
            b"\xef\xbb\xbf" + text.encode(),
            text.encode("utf-16"),
            text.encode() + b" " * 100_000 + b"x",
            b"[" * 100_000,
            b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
            (text[:-1] + f', {json.dumps(first)}: 1}}').encode(),  # a key that appears twice
            text.replace(" ", "\r").encode() + b"\r{}",
            text.encode() + b"\n" + text.encode(),
            text.encode()[: rng.randrange(len(text))],
            f'{text[:-1]}, "x": {"9" * 10_000}}}'.encode(),
            b"null",
            b'"' + b"a" * 100_000 + b'"',
        )
    )
