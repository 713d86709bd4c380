"""Draws what `duplicates.py` counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

TRUTH = (
    ("once", "booked once", "#4c9f70"),
    ("twice_or_more", "booked twice or more", "#c8372d"),
    ("lost", "not booked", "#d9d9d9"),
)
BELIEF = (
    ("false_claims", "the client claimed something false", "#f2a03d"),
    ("said_unknown", "the client said that it does not know", "#5b7fb5"),
)


def bars(axes: Any, rows: Sequence[dict[str, Any]], kinds: Any, shift: float, high: float) -> None:
    """One stacked bar for each row, with its figures inside."""
    left = [0] * len(rows)
    for field, label, colour in kinds:
        counts = [row[field] for row in rows]
        places = [at + shift for at in range(len(rows))]
        drawn = axes.barh(places, counts, height=high, left=left, color=colour, label=label)
        axes.bar_label(drawn, [n or "" for n in counts], label_type="center", fontsize=7)
        left = [a + b for a, b in zip(left, counts, strict=True)]


def plot(rows: Sequence[dict[str, Any]], path: Path) -> str:
    """Draw rows to `path` and say so; without matplotlib only say so."""
    try:
        import matplotlib as mpl
    except ImportError:
        return "matplotlib is not installed: no plot"
    mpl.use("Agg")
    from matplotlib import pyplot

    # Text stays text, and the same figures make the same file.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "duplicates"})
    figure, axes = pyplot.subplots(figsize=(10, 0.5 * len(rows) + 2), layout="constrained")
    bars(axes, rows, TRUTH, -0.12, 0.5)
    bars(axes, rows, BELIEF, 0.28, 0.26)
    axes.set_yticks(range(len(rows)), [row["way"] for row in rows])
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(f"orders, of {rows[0]['orders']} posted; 9 in 20 fail on purpose")
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    nothing = {"Date": None, "Creator": None} if path.suffix == ".svg" else {"Software": None}
    figure.savefig(path, metadata=nothing, dpi=150)
    pyplot.close(figure)
    return f"drawn to {path}"
