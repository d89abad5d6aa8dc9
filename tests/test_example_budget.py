import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_budget_example() -> None:
    """Trains, records, builds, chooses; its own assertions compare with exact arithmetic."""
    pytest.importorskip("torch")
    script = Path(__file__).parents[1] / "examples" / "budget.py"
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "CaDDTree" in ran.stdout and "sizes are the best ones" in ran.stdout
