"""Disturbed models that measures and accuracy follow by a known rule: no training needed."""

from __future__ import annotations

from resemblance.catalogue import get_measures
from resemblance.suites.stability import weight_changes

WATCHED = get_measures(
    [weight_changes.RDM, weight_changes.CKA, weight_changes.PROCRUSTES, weight_changes.SQUARED]
)


PLAN = {
    "noise": [k / 20 for k in range(11)],
    "rounding": [8, 2],
    "adapters": [[8, 0.01]],
    "shuffled": [0],
}
KINDS = (("noise", 0), ("noise", 1), ("rounding", 0), ("adapters", 0), ("shuffled", 0))


def world(rdm, cka, root):
    """Parts of a canary in which measures are functions of α, and accuracy falls from α = 0.3
    on."""
    specs = {
        weight_changes.RDM: rdm,
        weight_changes.CKA: cka,
        weight_changes.PROCRUSTES: root,
        weight_changes.SQUARED: lambda a: root(a) ** 2,
    }
    unchanged = {m: of(0.0) for m, of in specs.items()}
    done = []
    for seed in range(3):
        for kind, draw in KINDS:
            name = f"vision/digits/resnet/normal/seed{seed}"
            part = {"model": name, "kind": kind, "draw": draw, "levels": PLAN[kind]}
            points = [disturbed(kind, level, specs) for level in PLAN[kind]]
            value = {"accuracy": 0.9, "unchanged": dict(unchanged), "points": points, "reasons": {}}
            done.append((part, value))
    return done


def disturbed(kind, level, specs):
    """A point at one level: what measures find, and how much accuracy is lost."""
    rounding = 0.01 if level == 8 else 0.5
    x = {"noise": level, "rounding": rounding, "adapters": 0.01, "shuffled": 1.0}[kind]
    lost = round(100 * max(0.0, x - 0.25))
    found = {m: of(x) for m, of in specs.items()}
    return {
        "name": str(level),
        "level": level[1] if kind == "adapters" else level,
        "accuracy": 0.9 - lost / 100,
        "lost": lost,
        "gained": 0,
        "differences": found,
        "drifts": dict(found),
    }
