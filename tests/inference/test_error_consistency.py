"""Error consistency: kappa of scikit-learn, a table by hand, and a bootstrap of samples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import cohen_kappa_score

import resemblance as rs

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(4, size=300)
NOISY = {
    name: np.eye(4)[LABELS] + RANDOM.normal(scale=scale, size=(300, 4))
    for name, scale in (("a", 0.7), ("b", 0.9), ("c", 0.5))
}


def test_values_are_those_of_the_formula_and_of_scikit_learn():
    # 10 samples: both right 5, only x right 2, only y right 1, both wrong 2; p = 0.7 and 0.6,
    # c_obs = 0.7, c_exp = 0.42 + 0.12 = 0.54, kappa = 0.16 / 0.46
    x, y = ([1] * 7 + [0] * 3), ([1] * 5 + [0, 0, 1, 0, 0])
    result = rs.error_consistency({"x": x, "y": y}, np.ones(10, int))
    (pair,) = result.pairs
    assert pair[2::3] == pytest.approx((0.16 / 0.46, 0.7))
    assert pair.expected == pytest.approx(0.54)
    assert result.accuracies == pytest.approx({"x": 0.7, "y": 0.6})
    result = rs.error_consistency(NOISY | {"c": torch.tensor(NOISY["c"])}, LABELS)
    for pair in result.pairs:
        correct = (NOISY[name].argmax(1) == LABELS for name in (pair.x, pair.y))
        assert pair.value == pytest.approx(cohen_kappa_score(*correct))
    words = np.array(["ape", "bee", "cat", "dog"])
    decided = {name: words[x.argmax(1)] for name, x in NOISY.items()}
    assert rs.error_consistency(decided, words[LABELS]).pairs == result.pairs


def test_intervals_are_those_of_a_bootstrap_of_samples_or_of_blocks():
    blocks = np.arange(300) // 6
    correct = np.stack([NOISY[name].argmax(1) == LABELS for name in "ab"])
    for whole, units in ((None, np.arange(300)[:, None]), (blocks, np.arange(300).reshape(-1, 6))):
        result = rs.error_consistency(NOISY, LABELS, whole_blocks=whole)
        draws = RANDOM.integers(len(units), size=(500, len(units)))
        values = [cohen_kappa_score(*correct[:, units[draw].ravel()]) for draw in draws]
        expected = np.quantile(values, (0.025, 0.975))
        np.testing.assert_allclose(result.pairs[0][3:5], expected, atol=0.03)


def test_classifiers_that_are_always_right_have_no_value_and_a_reason():
    result = rs.error_consistency({"x": LABELS, "y": LABELS, "z": NOISY["a"]}, LABELS)
    assert [pair.value for pair in result.pairs[1:]] == [0, 0]
    ((_, x, y, reason),) = result.failures
    assert (x, y) == ("x", "y")
    assert "both are right for all 300 samples" in reason
    assert reason in str(result)
    assert result.records()[0]["value"] is None
    assert "x is right for all samples" in result.caveats[0]
    wrong = rs.error_consistency({"x": LABELS + 1, "y": LABELS + 2}, LABELS)
    assert "both are wrong" in wrong.failures[0].reason


def test_a_classifier_without_errors_is_exactly_that_for_any_number_of_samples():
    random = np.random.default_rng(0)
    for n in range(10, 61):
        right = {name: (random.random(n) < 0.7).astype(int) for name in "cde"}
        truth = np.ones(n, int)
        result = rs.error_consistency({"a": truth, "b": truth} | right, truth)
        assert np.isnan(result.pairs[0].value)
        assert result.accuracies["a"] == 1


@pytest.mark.parametrize(
    ("outputs", "labels", "message"),
    [
        ({"a": NOISY["a"]}, LABELS, "a mapping of two or more classifiers"),
        (NOISY, LABELS + 1, r"from 0 to 3, the columns of 'a' \(300, 4\); got 1 to 4"),
        (NOISY, LABELS[1:], r"'a' \(300, 4\) and labels \(299,\) must have the same samples"),
        ({"a": LABELS == 0, "b": LABELS}, LABELS, "got True and False; for right and wrong pass"),
        ({1: LABELS, "1": LABELS}, LABELS, "two classifiers have one name"),
        ({"a": np.where(LABELS == 0, None, LABELS), "b": LABELS}, LABELS, "'a' are missing"),
        ({"a": np.array(["ape"] * 300), "b": LABELS}, LABELS, "whole numbers; got words"),
        ({"a": NOISY["a"] * np.where(LABELS == 0, np.nan, 1)[:, None], "b": LABELS}, LABELS, "NaN"),
        (
            {"a": rs.Representation(NOISY["a"], ids=[f"i{k}" for k in range(300)])}
            | {"b": rs.Representation(NOISY["b"], ids=[f"i{k}" for k in range(299, -1, -1)])},
            LABELS,
            "order",
        ),
        (
            {"a": pd.Series(LABELS, [f"i{k}" for k in range(300)]), "b": LABELS},
            pd.Series(LABELS[::-1], [f"i{k}" for k in range(299, -1, -1)]),
            "order",
        ),
    ],
)
def test_inputs_that_do_not_fit_are_refused(outputs, labels, message):
    with pytest.raises(ValueError, match=message):
        rs.error_consistency(outputs, labels)


def test_models_that_classify_the_data_have_their_error_consistency(tmp_path):
    class Data(torch.utils.data.Dataset):
        targets = LABELS

        def __getitem__(self, i):
            return torch.tensor(NOISY["a"][i], dtype=torch.float32)

        def __len__(self):
            return 300

    torch.manual_seed(0)
    nets = {
        name: torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.Linear(9, 4)) for name in "xy"
    }
    rows = np.arange(200)
    call = {
        "measures": "cka",
        "progress": False,
        "mask": rows,
        "layers": "1",
        "save": tmp_path / "s",
    }
    comparison = rs.compare_models(nets, Data(), **call)
    with torch.no_grad():
        outputs = {k: net(torch.tensor(NOISY["a"][rows]).float()) for k, net in nets.items()}
    expected = rs.error_consistency(outputs, LABELS[rows])
    assert comparison.error_consistency.pairs == expected.pairs
    assert rs.load(tmp_path / "s" / "scores.comparison").error_consistency.pairs == expected.pairs
    page = comparison.to_html(tmp_path / "p.html").read_text()
    assert "Error consistency is Cohen" in page
    assert "geirhos2020beyond" in page
    assert '"error_consistency": {' in comparison.to_table(tmp_path / "t.json").read_text()
    assert (
        rs.compare_models(nets, NOISY["a"].astype("f4"), **call | {"save": None}).error_consistency
        is None
    )
