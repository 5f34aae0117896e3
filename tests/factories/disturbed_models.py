"""Disturbed models that measures and accuracy follow by a known rule: no training needed."""

from __future__ import annotations

from resemblance.bench.stability import alarms
from resemblance.bench.stability.alarms import PerturbedCopy, PerturbedModel, loss_pvalue
from resemblance.catalogue import get_measures

WATCHED = get_measures(
    [alarms.RDM_SPEARMAN, alarms.DEBIASED_CKA, alarms.ROOT_PROCRUSTES, alarms.SQUARED_PROCRUSTES]
)
PLAN = {
    "noise": [k / 20 for k in range(11)],
    "rounding": [8, 2],
    "adapters": [0.01],
    "shuffled": [0],
}
KINDS = (("noise", 0), ("noise", 1), ("rounding", 0), ("adapters", 0), ("shuffled", 0))


def world(rdm, cka, root):
    """Models for which measures are functions of α, and accuracy falls from α = 0.3 on."""
    specs = {
        alarms.RDM_SPEARMAN: rdm,
        alarms.DEBIASED_CKA: cka,
        alarms.ROOT_PROCRUSTES: root,
        alarms.SQUARED_PROCRUSTES: lambda a: root(a) ** 2,
    }
    unchanged = {m: of(0.0) for m, of in specs.items()}
    points = [copy(kind, draw, at, specs) for kind, draw in KINDS for at in PLAN[kind]]
    names = [f"vision/digits/resnet/normal/seed{seed}" for seed in range(3)]
    return [PerturbedModel(name, 0.9, tuple(points), dict(unchanged)) for name in names]


def copy(kind, draw, level, specs):
    """A copy at one level: what measures say, and how much accuracy is lost."""
    rounding = 0.01 if level == 8 else 0.5
    x = {"noise": level, "rounding": rounding, "adapters": 0.01, "shuffled": 1.0}[kind]
    lost = round(100 * max(0.0, x - 0.25))
    values = {m: of(x) for m, of in specs.items()}
    loss, p = round(lost / 100, 12), loss_pvalue(lost, 0)
    return PerturbedCopy(kind, draw, str(level), level, loss, p, values, dict(values))


def changed(models, change):
    """Return the models with ``change`` applied to every copy."""
    return [m._replace(points=tuple(map(change, m.points))) for m in models]
