"""UniVer with one thing wrong, or one thing different, at a time."""

from collections.abc import Callable
from typing import TypeVar

from draftproof.reference.chance import Chance
from draftproof.reference.drafting import greedy
from draftproof.reference.laws import ONE, ZERO, Law
from draftproof.reference.models import Model, Prefix
from draftproof.reference.rational import Rational
from draftproof.reference.trees import DraftNode, Scheme, Slot
from draftproof.reference.verifiers import Accepted, Family, ascend
from draftproof.reference.verifiers.ascent import Visit

T = TypeVar("T")

LOSSY = (
    "residual at scale one",
    "residual keeps the fixed children",
    "bonus from the target",
    "stay is the residual mass",
    "stay is the residual mass over Z",
    "stay is one minus the reject mass",
    "Z without the fixed children",
    "plan at scale one",
    "clamped before scaling",
    "drawn law not renormalised",
    "fixed children tested as if sampled",
    "weights not conditioned on elders",
    "root may fall through",
    "drawn child dropped, verified as a fixed set",
    "drawn child dropped, old masses kept",
)
LOSSLESS = ("reference", "dropped child kept as a virtual leaf")


def univer_with(fault: str, draft: Model) -> Family:
    """The rule with the fault of this name; ``draft`` is the law the declared ones come from."""
    assert fault in (*LOSSY, *LOSSLESS)
    visit = _visit(fault, draft)
    return Family(fault, ascend(visit), visit=visit)


def dropped(draft: Model, node: DraftNode, token: int) -> bool:
    """A score rule that looks at the drawn token: it has to be among the better half of what could be drawn."""
    return draft(node.path)[token] * 2 * len(draft(node.path)) < 1


def _visit(fault: str, draft: Model) -> Visit:
    def visit(
        target: Model, node: DraftNode, capacity: Rational, chance: Chance, below: Callable[[DraftNode, Rational], T | None]
    ) -> Accepted | T | None:
        p, children, root = target(node.path), tuple(node.children()), not node.path
        owed = {token: capacity * weight for token, weight in p.items()}
        if not children:
            return Accepted(node, p) if chance.flip(capacity, at=node) else None
        scale = ONE if fault == "plan at scale one" else capacity
        hubs, drawn = children[:-1], children[-1]
        law = drawn.declared
        assert law is not None
        r = {token: weight for token, weight in law.items()}
        if fault == "drawn law not renormalised" and len(law) > 1:
            r = {token: draft(node.path)[token] for token in r}
        fixed = {hub.token for hub in hubs}
        wanted = {token: scale * weight for token, weight in p.items() if token not in fixed}
        mass = min(ONE, wanted.get(drawn.token, ZERO) / r[drawn.token])
        if fault == "clamped before scaling":
            mass = capacity * min(ONE, p[drawn.token] / r[drawn.token])
        spare = sum((max(weight - wanted.get(token, ZERO), ZERO) for token, weight in r.items()), ZERO)
        over = {token: weight - r.get(token, ZERO) for token, weight in wanted.items() if weight > r.get(token, ZERO)}
        z = spare
        if fault == "Z without the fixed children":
            z = 1 - scale + sum(over.values(), ZERO) - scale * p.mass(fixed)
        masses = [scale * p[hub.token] * (1 - mass) / z if z > 0 else ZERO for hub in hubs] + [mass]
        rest = dict(over)
        if fault == "residual keeps the fixed children":
            rest |= {token: owed[token] for token in fixed if token in owed}
        total = sum(rest.values(), ZERO)
        stay = total / (total + 1 - capacity) if total else ZERO
        if fault == "stay is the residual mass":
            stay = total
        if fault == "stay is the residual mass over Z":
            stay = min(ONE, total / spare) if spare else ZERO
        if fault == "stay is one minus the reject mass":
            stay = 1 - (1 - mass) * (1 - capacity) / spare if spare else ONE
        if fault == "residual at scale one" and total:
            rest = {token: p[token] - r.get(token, ZERO) for token in p if token not in fixed and p[token] > r.get(token, ZERO)}
        if fault == "bonus from the target":
            rest = dict(p.items())
        if fault.startswith("drawn child dropped") and len(law) > 1 and dropped(draft, node, drawn.token):
            children = hubs
            if fault.endswith("fixed set"):
                masses = [owed.get(hub.token, ZERO) for hub in hubs]
                rest = {token: weight for token, weight in owed.items() if token not in fixed}
                total = sum(rest.values(), ZERO)
                stay = total / (total + 1 - capacity) if total else ZERO
        left = ONE
        for child, share in zip(children, masses, strict=False):
            offer = min(ONE, share / left) if left > 0 else ZERO
            if fault == "weights not conditioned on elders":
                offer = min(ONE, share)
            if fault == "fixed children tested as if sampled" and child is not drawn:
                offer = min(ONE, capacity * p[child.token] / draft(node.path)[child.token])
            if fault.startswith("dropped child kept") and child is drawn and len(law) > 1 and dropped(draft, node, drawn.token):
                if chance.flip(offer, at=child):
                    return Accepted(node, Law.point(child.token))
            elif offer and (answer := below(child, offer)) is not None:
                return answer
            left -= share
        bonus = Law(rest) if rest else p
        if root:
            if fault == "root may fall through" and not chance.flip(ONE * 99 / 100, at=node):
                return Accepted(node, p)
            return Accepted(node, bonus)
        return Accepted(node, bonus) if chance.flip(min(ONE, stay), at=node) else None

    return visit


def one_uniform_for_all(target: Model, root: DraftNode, chance: Chance) -> Accepted:
    """Every node of the post-order list is compared with the same uniform."""
    visited: list[tuple[DraftNode, Rational, Law[int]]] = []

    def collect(node: DraftNode, capacity: Rational) -> None:
        """All nodes with the probability of accepting each, children before their parent."""

        def below(child: DraftNode, share: Rational) -> None:
            collect(child, share)

        class Never:
            """Takes no decision; the tree is drawn by the real one."""

            def flip(self, probability: Rational, at: object = None) -> bool:
                chances.append(probability)
                return True

        chances: list[Rational] = []
        answer = _visit("reference", lambda prefix: target(prefix))(target, node, capacity, Never(), below)  # type: ignore[arg-type]
        if isinstance(answer, Accepted):
            visited.append((node, chances[0] if chances else ONE, answer.bonus))

    collect(root, ONE)
    masses, taken = dict[int, Rational](), ZERO
    for number, (_, probability, _) in enumerate(visited):
        if probability > taken:
            masses[number] = probability - taken
            taken = probability
    node, _, bonus = visited[chance.draw(Law(masses), at="uniform")]
    return Accepted(node, bonus)


def remaining_draft_mass(
    target: Model, node: DraftNode, capacity: Rational, chance: Chance, below: Callable[[DraftNode, Rational], T | None]
) -> Accepted | T | None:
    """Traversal with a parent's weight = residual mass / draft mass that is left, as a public implementation has it."""
    residual = target(node.path)
    for child in node.children():
        law = child.declared
        assert law is not None
        if (answer := below(child, min(ONE, capacity * residual[child.token] / law[child.token]))) is not None:
            return answer
        mass, left = residual.excess(law, capacity)
        rest = 1 - law[child.token]
        residual, capacity = left or residual, min(ONE, mass / rest) if rest else ONE
    return Accepted(node, residual) if not node.path or chance.flip(capacity, at=node) else None


def sometimes_greedy(draft: Model) -> Scheme:
    """Decided before the draw: below odd tokens the last child is not drawn at all."""
    made = greedy(draft)

    def declared(slot: Slot, prefix: Prefix, elders: tuple[int, ...]) -> Law[int] | None:
        return None if prefix and prefix[-1] % 2 and len(elders) == len(slot) - 1 else made(slot, prefix, elders)

    return declared
