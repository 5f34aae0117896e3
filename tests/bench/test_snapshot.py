"""The frozen extract of the standard library: its bytes, and that both parts are what they are said
to be."""

from __future__ import annotations

import numpy as np
import pytest

from resemblance.bench.training.standard_library import load_snapshot

FINGERPRINT = "d6038bcb11505d39ae4f451e6f05ee2b326c8507b965de1927e0e200f6a2dd8c"


@pytest.fixture(scope="module")
def snapshot():
    return load_snapshot()


def test_the_bytes_are_frozen(snapshot):
    assert snapshot.fingerprint == FINGERPRINT
    assert snapshot.python == "3.11.7"


def test_graph_has_as_many_functions_of_each_package(snapshot):
    graph = snapshot.graph
    assert len(graph.packages) == 8
    assert np.bincount(graph.labels).tolist() == [350] * 8
    assert len(set(graph.names)) == len(graph.names) == len(graph.words) == 2800


def test_label_of_a_function_is_its_package(snapshot):
    graph = snapshot.graph
    assert [graph.packages[label] for label in graph.labels] == [
        name.partition(".")[0] for name in graph.names
    ]


def test_words_are_places_in_the_vocabulary(snapshot):
    graph = snapshot.graph
    assert len(set(graph.vocabulary)) == 800
    assert {place for places in graph.words for place in places} == set(range(800))
    assert all(len(set(places)) == len(places) for places in graph.words)


def test_edges_are_listed_once_and_mostly_stay_in_a_package(snapshot):
    labels, edges = snapshot.graph.labels, snapshot.graph.edges
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert 0 <= edges.min() <= edges.max() < len(labels)
    assert 0.6 < (labels[edges[:, 0]] == labels[edges[:, 1]]).mean() < 0.8


def test_sentences_are_short_plain_and_different(snapshot):
    sentences = snapshot.sentences
    assert len(set(sentences.texts)) == len(sentences.texts) == len(sentences.labels) > 5000
    assert all(4 <= len(text.split()) <= 40 and text.isascii() for text in sentences.texts)


def test_label_of_a_sentence_is_the_package_of_its_file(snapshot):
    sentences = snapshot.sentences
    assert len(sentences.packages) == 10
    assert np.bincount(sentences.labels).max() <= 600
    files = [file.partition(".")[0] for file in sentences.files]
    assert [sentences.packages[label] for label in sentences.labels] == files
