"""Tokens and maps become samples by features: closed forms, and PyTorch's own pooling."""

from __future__ import annotations

from functools import partial
from itertools import product

import array_api_strict
import numpy as np
import pytest
import torch
import xarray as xr

import resemblance as rs

LIBRARIES = {
    "numpy": np.asarray,
    "torch": torch.asarray,
    "array_api_strict": array_api_strict.asarray,
}
TOKENS = np.arange(24.0).reshape(2, 3, 4)  # two samples, three tokens, four features
MAPS = np.random.default_rng(0).standard_normal((3, 2, 7, 5))
RIGHT = np.array([[1, 1, 0], [1, 1, 1]])  # padding behind
POOLS = ("first", "last", "mean", "max", "flatten")
LEFT = np.array([[0, 1, 1], [1, 1, 1]])  # padding in front


@pytest.fixture(params=sorted(LIBRARIES))
def library(request):
    return LIBRARIES[request.param]


def numbers(representation: rs.Representation) -> np.ndarray:
    return np.asarray(representation.source)


# ------------------------------------------------------------------------------------------- tokens


def test_tokens_without_mask(library, subtests):
    many = np.random.default_rng(1).standard_normal((1100, 3, 2))  # more than one block of samples
    for X, pool, expected in [
        (TOKENS, "first", TOKENS[:, 0]),
        (TOKENS, "last", TOKENS[:, 2]),
        (TOKENS, "mean", TOKENS[:, 1]),  # tokens are equally spaced
        (TOKENS, "max", TOKENS[:, 2]),
        (TOKENS, "flatten", TOKENS.reshape(2, 12)),
        (many, "max", many.max(axis=1)),
    ]:
        with subtests.test(f"{pool}, {X.shape}"):
            found = rs.from_tokens(library(X), pool=pool, name="layer", ids=range(len(X)))
            assert np.array_equal(numbers(found), expected)
            assert (found.name, found.ids) == ("layer", tuple(range(len(X))))
            assert type(found.source) is type(library(X))


def test_only_real_tokens_count(library, subtests):
    for kind in [bool, np.int64, np.float32]:
        for mask, pool, expected in [
            (RIGHT, "first", [TOKENS[0, 0], TOKENS[1, 0]]),
            (RIGHT, "last", [TOKENS[0, 1], TOKENS[1, 2]]),
            (RIGHT, "mean", [TOKENS[0, :2].mean(0), TOKENS[1].mean(0)]),
            (RIGHT, "max", [TOKENS[0, 1], TOKENS[1, 2]]),
            (LEFT, "first", [TOKENS[0, 1], TOKENS[1, 0]]),
            (LEFT, "last", [TOKENS[0, 2], TOKENS[1, 2]]),
            (LEFT, "mean", [TOKENS[0, 1:].mean(0), TOKENS[1].mean(0)]),
            (LEFT, "max", [TOKENS[0, 2], TOKENS[1, 2]]),
        ]:
            with subtests.test(f"{pool}, {kind}"):
                # Whatever padding holds, it is never read.
                padded = np.where(mask[:, :, None] == 1, TOKENS, np.nan)
                found = rs.from_tokens(library(padded), pool=pool, mask=library(mask.astype(kind)))
                assert np.array_equal(numbers(found), expected)


def test_the_largest_of_negative_tokens_is_none_of_the_padding():
    tokens = -1 - np.abs(TOKENS)
    found = rs.from_tokens(tokens, pool="max", mask=RIGHT)
    assert np.array_equal(numbers(found), [tokens[0, :2].max(axis=0), tokens[1].max(axis=0)])


def test_holes_in_a_mask_and_masks_of_another_library():
    mask = np.array([[0, 1, 0], [1, 0, 1]])
    for given in (mask, mask.tolist(), torch.asarray(mask)):
        found = rs.from_tokens(TOKENS, pool="mean", mask=given)
        assert np.array_equal(found.source, [TOKENS[0, 1], TOKENS[1, 1]])
    found = rs.from_tokens(TOKENS, pool="last", mask=mask)
    assert np.array_equal(found.source, [TOKENS[0, 1], TOKENS[1, 2]])
    assert rs.from_tokens(TOKENS, pool="flatten", mask=np.ones((2, 3))).shape == (2, 12)


# --------------------------------------------------------------------------------------------- maps


def test_maps_closed_forms(library):
    X = library(MAPS)
    assert np.allclose(numbers(rs.from_maps(X, pool="mean")), MAPS.mean((2, 3)), rtol=1e-14)
    assert np.array_equal(numbers(rs.from_maps(X, pool="max")), MAPS.max((2, 3)))
    assert np.array_equal(numbers(rs.from_maps(X, pool="flatten")), MAPS.reshape(3, 70))


def test_positions_are_samples_in_the_order_of_their_ids(library):
    found = rs.from_maps(library(MAPS), pool="positions", ids=list("abc"))
    assert found.ids == tuple(product("abc", range(7), range(5)))
    for (sample, row, column), values in zip(found.ids, numbers(found)):
        assert np.array_equal(values, MAPS["abc".index(sample), :, row, column])
    assert rs.from_maps(MAPS, pool="positions").ids is None


@pytest.mark.filterwarnings("ignore:from_maps")  # larger than the maps
def test_size_is_pytorchs_adaptive_average_pooling(library, subtests):
    for size in [(1, 1), (2, 3), (3, 2), (7, 5), (6, 5), (9, 11)]:
        with subtests.test(str(size)):
            expected = torch.nn.functional.adaptive_avg_pool2d(torch.asarray(MAPS), size).numpy()
            found = numbers(rs.from_maps(library(MAPS), pool="flatten", size=size))
            assert np.allclose(found.reshape(expected.shape), expected, rtol=1e-13, atol=1e-15)
            largest = rs.from_maps(library(MAPS), pool="max", size=size)
            assert np.allclose(numbers(largest), expected.max((2, 3)), rtol=1e-13)


# ------------------------------------------------------------------ kinds of numbers, and gradients


def test_every_kind_of_number_is_averaged_in_float64(subtests):
    for dtype in [np.float16, np.float32, np.int8, np.uint8, np.int64, bool]:
        with subtests.test(str(dtype)):
            tokens, maps = (np.rint(4 * X).astype(dtype) for X in (TOKENS, MAPS))
            mean = rs.from_tokens(tokens, pool="mean", mask=RIGHT).source
            assert mean.dtype == np.float64
            assert np.array_equal(mean[0], tokens[0, :2].astype(float).mean(0))
            assert np.array_equal(rs.from_tokens(tokens, pool="max").source, tokens.max(1))
            expected = maps.astype(float).mean((2, 3))
            assert np.allclose(rs.from_maps(maps, pool="mean").source, expected, rtol=1e-14)
            assert np.array_equal(rs.from_tokens(tokens, pool="first").array, tokens[:, 0])
    for dtype in [torch.bfloat16, torch.float16, torch.uint8, torch.bool]:
        tokens = torch.asarray(TOKENS).to(dtype)
        for pool in POOLS:
            with subtests.test(f"{dtype}, {pool}"):
                found = rs.from_tokens(tokens, pool=pool).array
                assert found.dtype == torch.float64
                assert torch.equal(found, rs.from_tokens(tokens.double(), pool=pool).array)


def test_gradients_pass_through(subtests):
    rng = np.random.default_rng(0)
    X = torch.tensor(rng.standard_normal((4, 3, 2)), requires_grad=True)
    maps = torch.tensor(rng.standard_normal((3, 2, 4, 3)), requires_grad=True)
    real = torch.tensor([[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]])
    pooled = [
        (X, partial(rs.from_tokens, pool=pool, mask=None if pool == "flatten" else real))
        for pool in POOLS
    ]
    pooled += [
        (maps, partial(rs.from_maps, pool=pool, size=(3, 2)))
        for pool in ("mean", "max", "flatten", "positions")
    ]
    for data, features in pooled:
        with subtests.test(str(features)):
            assert torch.autograd.gradcheck(lambda a, f=features: f(a).array, (data,))


def test_files_are_read_in_place_and_inputs_stay_as_they_are(tmp_path):
    path = tmp_path / "layer4.npy"
    np.save(path, MAPS.astype(np.float16))
    found = rs.from_maps(path, pool="flatten")
    assert found.name == "layer4"
    assert np.array_equal(found.array, MAPS.astype(np.float16).reshape(3, 70))
    assert rs.from_maps(str(path), pool="mean", name="mine").name == "mine"
    X = np.asfortranarray(np.random.default_rng(0).standard_normal((6, 5, 4)))[::-2, ::2, ::-1]
    X.setflags(write=False)
    for pool in POOLS:
        plain = rs.from_tokens(np.ascontiguousarray(X), pool=pool, mask=np.ones((3, 3)))
        strided = rs.from_tokens(X, pool=pool, mask=np.ones((3, 3)))
        assert np.array_equal(strided.source, plain.source)


# ---------------------------------------------------------------------------------------- bad input


UNEQUAL = [np.ones((3, 4, 5 + i % 2)) for i in range(20)]
INFINITE = TOKENS.copy()
INFINITE[1, 1:, 3] = -np.inf, np.inf
from_tokens, from_maps = partial(rs.from_tokens, TOKENS), partial(rs.from_maps, MAPS)
MISTAKES = [
    (lambda: from_tokens(pool="cls"), r"pool must be one of 'first', 'last', 'mean'.*got 'cls'"),
    (lambda: from_maps(pool="gap"), r"pool must be one of 'mean', 'max', 'flatten', 'positions'"),
    (
        lambda: rs.from_tokens(TOKENS[0], pool="mean"),
        r"tokens, features\); got shape \(3, 4\).*use it as it is",
    ),
    (
        lambda: rs.from_tokens(MAPS, pool="mean"),
        r"got shape \(3, 2, 7, 5\).*rs\.from_maps\(X, pool=",
    ),
    (
        lambda: rs.from_maps(TOKENS, pool="mean"),
        r"got shape \(2, 3, 4\).*rs\.from_tokens\(X, pool=",
    ),
    (lambda: rs.from_maps(np.ones((1, 2, 3, 4, 5)), pool="mean"), r"got shape \(1, 2, 3, 4, 5\)$"),
    (lambda: rs.from_tokens(np.ones((2, 0, 3)), pool="mean"), r"empty: shape \(2, 0, 3\)"),
    (lambda: from_tokens(pool="mean", mask=RIGHT.T), r"must be \(2, 3\); got \(3, 2\)"),
    (lambda: from_tokens(pool="mean", mask=2 * RIGHT), "1 .* for real tokens and 0 for padding"),
    (lambda: from_tokens(pool="mean", mask=[[0, 0, 0], [1, 1, 1]]), "row 0 has no real token"),
    (
        lambda: from_tokens(pool="last", mask=[[1, 0, 0], [0, 0, 0]], ids=list("ab")),
        r"row 1 \(id 'b'\)",
    ),
    (lambda: from_tokens(pool="flatten", mask=RIGHT), r'1 of 6 are padding; pool with "first"'),
    (lambda: from_tokens(pool="mean", ids=list("abc")), "2 samples but 3 ids"),
    (lambda: from_maps(pool="positions", ids=list("ab")), "3 samples but 2 ids"),
    (lambda: from_maps(pool="mean", size=3), r"size must be \(height, width\).*got 3"),
    (lambda: from_maps(pool="mean", size=(3, 0)), r"two positive integers; got \(3, 0\)"),
    (
        lambda: rs.from_tokens(TOKENS.astype(complex), pool="mean"),
        "real numbers; got dtype complex128",
    ),
    (lambda: rs.from_tokens(TOKENS.astype(str), pool="mean"), "real numbers"),
    (lambda: rs.from_maps(np.ma.masked_array(MAPS), pool="mean"), "masked"),
    (
        lambda: rs.from_maps(UNEQUAL, pool="mean"),
        r"np\.stack\(\[x\.mean\(axis=\(1, 2\)\) for x in X\]\)",
    ),
    (
        lambda: rs.cka(rs.from_tokens(INFINITE, pool="mean", name="deep"), TOKENS[:, 0]),
        "'deep' has 1 NaN or infinite .* row 1, column 3",
    ),
]


def test_errors_say_what_to_write(subtests):
    for call, message in MISTAKES:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            call()
    for call in (from_tokens, from_maps):
        with pytest.raises(TypeError, match="pool"):
            call()


@pytest.mark.parametrize(
    ("X", "remedy"), [(TOKENS, r"rs.from_tokens\(X, pool="), (MAPS, r"rs.from_maps\(X, pool=")]
)
def test_a_measure_points_to_the_layout(X, remedy):
    for call in (rs.as_representation, lambda x: rs.cka(x, x), lambda x: rs.compare({"a": x})):
        with pytest.raises(ValueError, match=remedy) as error:
            call(X)
        assert str(X.shape) in str(error.value)


# --------------------------------------------------------------------------------- likely mistakes

PADDED = np.random.default_rng(3).standard_normal((6, 5, 4))
LENGTHS = np.array([5, 3, 4, 5, 2, 1])
PADDED[np.arange(5) >= LENGTHS[:, None]] = 0


@pytest.mark.parametrize("pool", ["mean", "max", "last"])
def test_zero_tokens_at_the_end_are_named_and_the_remedy_keeps_them_out(library, pool):
    X = library(PADDED)
    with pytest.warns(UserWarning, match=r"4 of 6 samples end with tokens that are zero, up to 4"):
        rs.from_tokens(X, pool=pool)
    mask = (PADDED != 0).any(-1)  # what the warning says
    rows = [row[:length] for row, length in zip(PADDED, LENGTHS)]
    reduce = {"mean": lambda r: r.mean(0), "max": lambda r: r.max(0), "last": lambda r: r[-1]}
    found = rs.from_tokens(X, pool=pool, mask=library(mask))
    np.testing.assert_allclose(numbers(found), [reduce[pool](row) for row in rows], rtol=1e-12)


def test_zero_tokens_that_are_no_padding(recwarn):
    with pytest.warns(UserWarning, match="4 of 6 samples begin with tokens that are zero"):
        rs.from_tokens(np.concatenate([0 * PADDED[:1], PADDED[1:, ::-1]]), pool="first")
    recwarn.clear()
    rs.from_tokens(PADDED, pool="flatten")
    equal = np.ones((6, 5, 4))
    equal[:, 2:] = 0
    zeros = TOKENS.copy()
    zeros[1] = 0
    inside = TOKENS + 1.0
    inside[0, 1] = 0
    for X in (equal, zeros, inside, TOKENS):
        rs.from_tokens(X, pool="mean")
    assert not recwarn.list


def test_maps_that_may_have_channels_last(recwarn):
    last = np.moveaxis(np.random.default_rng(0).standard_normal((4, 7, 6, 6)), 1, -1)
    with pytest.warns(UserWarning, match=r"6 channels of 6 x 7; if its channels are last"):
        rs.from_maps(last, pool="mean")
    recwarn.clear()
    found = rs.from_maps(np.moveaxis(last, -1, 1), pool="mean")
    np.testing.assert_allclose(numbers(found), last.mean((1, 2)), rtol=1e-12)
    for shape in [(2, 3, 6, 6), (2, 6, 6, 6), (2, 5, 6, 7)]:
        rs.from_maps(np.ones(shape), pool="mean")
    assert not recwarn.list


def test_a_size_that_repeats_positions_is_named(recwarn):
    with pytest.warns(UserWarning, match=r"larger than maps of 7 x 5.*pass size=\(7, 4\)"):
        rs.from_maps(MAPS, pool="flatten", size=(9, 4))
    with pytest.warns(UserWarning, match=r"pass size=\(7, 5\)"):
        rs.from_maps(MAPS, pool="flatten", size=(7, 6))
    recwarn.clear()
    assert rs.from_maps(MAPS, pool="flatten", size=(7, 4)).shape == (3, 2 * 7 * 4)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("function", "shape"), [(rs.from_tokens, (5, 3)), (rs.from_maps, (3, 4, 5))]
)
def test_a_list_of_samples_is_the_array_of_them(function, shape):
    X = np.random.default_rng(0).standard_normal((20, *shape))
    expected = function(X, pool="mean").array
    assert np.array_equal(function(list(X), pool="mean").array, expected)


@pytest.mark.parametrize(
    "dims",
    [("sample", "token", "feature"), ("neurons", "time", "batch"), ("Word", "other", "sentence")],
)
def test_tokens_are_found_by_the_names_of_dimensions(dims):
    places = {"time": 1, "token": 1, "Word": 1, "feature": 2, "neurons": 2, "other": 2}
    axes = [places.get(d, 0) for d in dims]
    tokens = np.random.default_rng(0).standard_normal((5, 7, 3))
    real = np.arange(7) < np.array([7, 3, 5, 1, 2])[:, None]
    coordinates = {dims[axes.index(0)]: list("abcde")}
    named = xr.DataArray(np.transpose(tokens, axes), dims=dims, coords=coordinates)
    for mask in (None, real, xr.DataArray(real.T, dims=("token", "sample"))):
        expected = rs.from_tokens(tokens, pool="mean", mask=None if mask is None else real)
        result = rs.from_tokens(named, pool="mean", mask=mask)
        assert np.array_equal(result.array, expected.array)
        assert result.ids == tuple("abcde")


@pytest.mark.parametrize(
    "dims", [("y", "x", "channel", "sample"), ("sample", "row", "column", "features")]
)
def test_maps_are_found_by_the_names_of_dimensions(dims):
    roles = {"channel": 1, "features": 1, "y": 2, "row": 2, "x": 3, "column": 3}
    maps = np.random.default_rng(0).standard_normal((4, 5, 3, 6))
    named = xr.DataArray(np.transpose(maps, [roles.get(d, 0) for d in dims]), dims=dims)
    result = rs.from_maps(named, pool="mean")
    assert np.array_equal(result.array, rs.from_maps(maps, pool="mean").array)


def test_names_of_dimensions_that_say_nothing_or_contradict_the_axes():
    tokens = np.random.default_rng(0).standard_normal((5, 7, 3))
    for dims in (("a", "b", "c"), ("document", "sentence", "embedding"), ("sample", "b", "c")):
        assert rs.from_tokens(xr.DataArray(tokens, dims=dims), pool="mean").shape == (5, 3)
    for dims in (("a", "sample", "c"), ("unit", "channel", "sample")):
        contradicting = xr.DataArray(tokens, dims=dims)
        words = r"axes must be \(samples, tokens, features\); .* or pass X.to_numpy\(\)"
        with pytest.raises(ValueError, match=words):
            rs.from_tokens(contradicting, pool="mean")
        names = dict(zip(dims, ("samples", "tokens", "features")))
        for remedy in (contradicting.to_numpy(), contradicting.rename(names)):
            assert rs.from_tokens(remedy, pool="mean").shape == (5, 3)
    maps = xr.DataArray(tokens[None], dims=("sample", "lat", "lon", "unit"))
    with pytest.raises(ValueError, match="from_maps: X has the dimensions"):
        rs.from_maps(maps, pool="mean")
