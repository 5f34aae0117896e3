"""Values from the authors' own code, and from the papers' definitions, on the same inputs.

``resi_outputs.json``: mklabunde/resi at 24ab9e5, called on the arrays of ``resi_inputs.npz``.
``resi_paper_variants.json``: the definitions of the papers where that code differs, written
independently of this library. Tolerance 1e-8 relative unless a comment says which and why.
"""

from __future__ import annotations

import json

import per_pair
import pytest
from factories.files import GOLDEN

import resemblance as rs

pytestmark = [
    pytest.mark.usefixtures("any_blocks"),
    # The stored inputs have few samples.
    pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning"),
]

OUTPUTS = json.loads((GOLDEN / "resi_outputs.json").read_text())["measures"]
CASES = [case for case in OUTPUTS if case.startswith("pub0")]
RESI = {m.label: m for m in rs.preset("resi")}

# Where the authors' code gives no number or a number made of rounding noise, and what is given
# here.
OURS = {
    ("pub03_dim_32_vs_48", "PWCCA", "Rp_R"): "undefined",  # IndexError there: wider first argument
    ("pub04_n_lt_d_40x64", "PWCCA"): "undefined",  # AssertionError there: n <= d
    ("pub06_relu_dead_columns", "PWCCA"): "undefined",  # LinAlgError there: singular covariance
    ("pub08_constant_and_duplicate_columns", "PWCCA"): "undefined",
    ("pub04_n_lt_d_40x64", "GULP"): 0.0,  # AssertionError there; both span all of the 39 dimensions
    (
        "pub06_relu_dead_columns",
        "GULP",
    ): 51.61210115823797,  # 53.612 there: two rounding-noise eigenvalues inverted
    (
        "pub06_relu_dead_columns",
        "LinReg",
    ): "defined",  # LinAlgError there: singular covariance inverted
    ("pub08_constant_and_duplicate_columns", "LinReg"): "defined",
}


def entries() -> list[tuple[str, str, str, dict]]:
    found = []
    for case in CASES:
        for entry in OUTPUTS[case]["measures"].values():
            if entry.get("paper_name") in RESI:
                found += [(case, entry["paper_name"], order, entry) for order in ("R_Rp", "Rp_R")]
    return found


def test_the_golden_cases_cover_the_24_measures():
    assert {label for _, label, _, _ in entries()} == set(RESI)
    assert len(RESI) == 24


def test_preset_resi_equals_the_authors_code(golden_inputs, subtests):
    for label in RESI:
        for case, _, order, entry in (e for e in entries() if e[1] == label):
            with subtests.test(f"{case}, {order}"):
                theirs = entry[order]["value"]
                # Symmetric measures that are slow were run in one order only.
                if theirs == "not_run":
                    theirs = entry["R_Rp"]["value"]
                x, y = golden_inputs[f"{case}__R"], golden_inputs[f"{case}__Rp"]
                x, y = (x, y) if order == "R_Rp" else (y, x)
                ours = OURS.get((case, label, order), OURS.get((case, label)))
                if ours == "undefined":
                    with pytest.raises(rs.UndefinedError):
                        RESI[label](x, y)
                    continue
                value = RESI[label](x, y)
                if ours == "defined":
                    assert theirs == "nan"
                    assert 0 < value < 1
                elif ours is not None:
                    assert value == pytest.approx(ours, rel=1e-8)
                elif label == "IMD":
                    # theirs is a random estimate: deviation 9 %, biased upwards by its maximum
                    assert value == pytest.approx(theirs, abs=4)
                elif label == "RTD":  # theirs is computed in float32
                    assert value == pytest.approx(theirs, rel=1e-4, abs=1e-5)
                elif case == "pub09_float32_of_pub02":  # theirs is computed in float32
                    assert value == pytest.approx(theirs, rel=1e-4)
                else:  # 1e-7 absolute: a distance of 0 is the root of rounding noise there
                    assert value == pytest.approx(theirs, rel=1e-8, abs=1e-7)


DEFINITIONS = {
    "SVCCA_99pct_mean_cca": rs.svcca,
    "DistCorr_paper_eq20_no_outer_sqrt": rs.distance_correlation.with_parameters(squared=True),
    "DistCorr_as_code_check": rs.distance_correlation,
    "GULP_lambda0_paper_eq22_with_sqrt": rs.gulp,
    "RSMDiff_frobenius": rs.rsm_norm_difference,
    "RSMDiff_spectral_check": rs.rsm_norm_difference.with_parameters(norm="spectral"),
    "SecondOrderCos_paper_cosine_similarities": rs.second_order_cosine,
    "IMD_exact_heat_kernel_no_SLQ_noise": rs.imd,
    "UnifDiff_on_row_normalised": rs.uniformity_difference,
}


def test_defaults_equal_the_definitions(golden_inputs, golden_definitions, subtests):
    for definition in DEFINITIONS:
        for case in CASES:
            with subtests.test(f"{definition}, {case}"):
                x, y = golden_inputs[f"{case}__R"], golden_inputs[f"{case}__Rp"]
                # of GULP: the root of rounding noise of equal ranks, set to 0 here
                tolerance = 1e-7 if definition.startswith("GULP") else 1e-10
                expected = golden_definitions[case][definition]
                assert DEFINITIONS[definition](x, y) == pytest.approx(
                    expected, rel=1e-8, abs=tolerance
                )


def test_pwcca_and_mean_cca_equal_the_definitions(golden_inputs, golden_definitions, subtests):
    for case in CASES:
        with subtests.test(str(case)):
            x, y = golden_inputs[f"{case}__R"], golden_inputs[f"{case}__Rp"]
            textbook = golden_definitions[case]["PWCCA_textbook"]
            assert rs.pwcca(x, y) == pytest.approx(textbook["weights_from_R"], rel=1e-8)
            assert rs.pwcca(x, y, weights="second") == pytest.approx(
                textbook["weights_from_Rp"], rel=1e-8
            )
            assert rs.pwcca(x, y, weights="symmetric") == pytest.approx(
                (textbook["weights_from_R"] + textbook["weights_from_Rp"]) / 2, rel=1e-8
            )
            assert rs.mean_cca(x, y) == pytest.approx(textbook["mean_cca"], rel=1e-8)


def test_output_measures_equal_the_authors_code(golden_inputs, golden_outputs):
    expected = golden_outputs["functional"]["reference"]
    a, b, labels = (
        golden_inputs[f"pub_func__{name}"] for name in ("logits_a", "logits_b", "labels")
    )
    p, q = (golden_inputs[f"pub_func__probs_{side}"] for side in "ab")
    jsd = next(
        v for k, v in expected.items() if k.startswith("JSD_on_logits (") or k == "JSD_on_logits"
    )
    assert rs.jensen_shannon(a, b) == pytest.approx(jsd, rel=1e-8)
    assert rs.jensen_shannon(p, q, outputs="probabilities") == pytest.approx(jsd, rel=1e-6)
    assert rs.disagreement(a, b) == pytest.approx(expected["Disagreement_logits"], rel=1e-12)
    assert rs.disagreement(p, q) == pytest.approx(expected["Disagreement_probs"], rel=1e-12)
    assert rs.accuracy_difference(a, b, labels=labels) == pytest.approx(
        expected["AbsoluteAccDiff"], rel=1e-12
    )


def test_the_plain_per_pair_twin_of_the_benchmark_gives_the_same(golden_inputs, subtests):
    """``benchmarks/per_pair.py``: the same formulas written plainly with NumPy, SciPy and
    scikit-learn."""
    for m in [m for m in rs.preset("default") if m.name != "rtd"]:
        with subtests.test(str(m)):
            for case in ("pub01_gauss_indep", "pub02_rot_noise", "pub03_dim_32_vs_48"):
                x, y = golden_inputs[f"{case}__R"], golden_inputs[f"{case}__Rp"]
                # 1e-7: the twin takes the root of a cancellation for the distances
                assert m(x, y) == pytest.approx(getattr(per_pair, m.name)(x, y), rel=1e-8, abs=1e-9)
