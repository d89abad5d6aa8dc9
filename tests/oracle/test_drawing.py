from xml.etree import ElementTree

import pytest

from draftproof.oracle.drawing import Curve, Drawing, TreeNode, chart, stacked, ticks, tree


def parsed(drawing: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(drawing.svg())


def count(drawing: Drawing, tag: str) -> int:
    return len(parsed(drawing).findall(f".//{{http://www.w3.org/2000/svg}}{tag}"))


def test_chart() -> None:
    curve = Curve("rate", [(0, 1.0), (1, 3.0), (2, 2.0)], marks=[(1, 3.0, "best <here>")])
    page = chart("Title & more", [curve, Curve("other", [(0, 2.0), (2, 2.5)], "b", dashed=True)], "nodes", "tokens")
    words = "".join(parsed(page).itertext())
    assert "Title & more" in words and "best <here>" in words and "nodes" in words, "escaped, and there"
    assert count(page, "circle") == 6
    with pytest.raises(ValueError, match="nothing to draw"):
        chart("", [], "", "")


@pytest.mark.parametrize("points", [[(0, 1.0)], [(0, 0.0), (1, 0.0)], [(3, -1e-9), (9, 2e9)]])
def test_degenerate_curves(points: list[tuple[float, float]]) -> None:
    assert "nan" not in chart("", [Curve("c", points)], "x", "y").svg()


def test_ticks_span_the_data() -> None:
    for low, high in ((0, 1), (0.123, 0.129), (-5, 17), (3, 3), (0, 0), (1e-9, 2e-9)):
        found = ticks(low, high)
        assert found[0] <= low and found[-1] >= high and 3 <= len(found) <= 12


def test_tree() -> None:
    nodes = [TreeNode(None, ""), TreeNode(0, "7", note="7: 1/2"), TreeNode(0, "151935"), TreeNode(1, "3")]
    page = tree("Tree", nodes)
    assert count(page, "circle") == 4 and count(page, "polyline") == 3 and "151935" in "".join(parsed(page).itertext())
    chain = tree("Chain", [TreeNode(None, ""), *(TreeNode(depth, "0") for depth in range(3000))])
    assert count(chain, "circle") == 3001, "no recursion"
    both = stacked("Both", [page, chain])
    assert both.height == page.height + chain.height


def test_bars() -> None:
    """Intervals are drawn, and widen the axis where they are longer than the curve."""
    plain = chart("t", [Curve("c", [(0, 1.0), (1, 2.0)])], "x", "y")
    barred = chart("t", [Curve("c", [(0, 1.0), (1, 2.0)], bars=[(1, -3.0, 7.0)])], "x", "y")
    assert ">1.2<" in plain.svg() and ">1.2<" not in barred.svg() and ">-4<" in barred.svg() and ">8<" in barred.svg()
