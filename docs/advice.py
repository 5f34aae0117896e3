"""When to use each measure, and what to beware of: one or two sentences, written by hand."""

from __future__ import annotations

from typing import NamedTuple


class Advice(NamedTuple):
    """When a measure answers the question, and what misleads."""

    use: str
    beware: str


ADVICE = {
    # Canonical correlations
    "mean_cca": Advice(
        "you ask whether two layers hold the same linear information, whatever its scale, and have "
        "many more samples than features.",
        "Every direction counts alike, so directions of tiny variance, which are often noise, "
        "decide the mean. Reduce the dimension first, or use SVCCA.",
    ),
    "pwcca": Advice(
        "you want canonical correlations that emphasise the directions which matter for one of the "
        "representations.",
        "The value depends on the order of the arguments. Published codes differ in the weights.",
    ),
    "subspace_overlap": Advice(
        "you ask whether the k leading principal components of two layers span the same space.",
        "The result depends on k. If the spectrum has no gap after component k, small changes "
        "exchange components and lower the value.",
    ),
    "svcca": Advice(
        "you want canonical correlations without the directions of least variance.",
        "The threshold of the variance decides how many components remain, and codes define it "
        "differently: see the page on implementations that disagree.",
    ),
    # Alignment
    "aligned_cosine": Advice(
        "you ask how well a rotation maps each sample onto its counterpart, sample by sample.",
        "A common offset, as ReLU layers have, makes unrelated representations similar. Subtract "
        "the column means first if the offset should not count.",
    ),
    "angular_shape": Advice(
        "you need a true distance between shapes: triangle inequality, no units, rotation and "
        "size removed.",
        "Directions of large variance dominate. With n near or below d, unrelated data look close.",
    ),
    "hard_correlation_match": Advice(
        "you ask whether single neurons have a counterpart, one to one.",
        "A rotation of the neurons changes it, so two networks with the same geometry may score "
        "low. Correlations are signed, and few samples create false matches.",
    ),
    "linear_predictivity": Advice(
        "you ask how well one representation predicts the other on samples left out, as in studies "
        "of brains.",
        "It has a direction: X predicts Y. Its value depends on the noise in Y; compare it with a "
        "noise ceiling.",
    ),
    "linear_regression": Advice(
        "you ask how much of the variance of Y a linear map of X explains on the same samples.",
        "It has a direction, and it is in sample: it grows with the number of features of the "
        "predictor. Use linear predictivity for samples left out.",
    ),
    "permutation_procrustes": Advice(
        "you ask how far two sets of neurons are apart after the best renumbering, with units and "
        "offsets.",
        "Both sides need the same width. Scale and offset count; standardise if they should not.",
    ),
    "procrustes": Advice(
        "you want one distance between geometries as a default: a metric, in fixed units, without "
        "rotation, offset and size.",
        "It is insensitive to directions of small variance, and unrelated data look closer when n "
        "is near or below d.",
    ),
    "procrustes_size_shape": Advice(
        "sizes should count: the distance after the best rotation, in the units of the "
        "activations.",
        "It grows with the number of samples and the scale of the data. Compare values only "
        "between equal n and equal scales.",
    ),
    "shape": Advice(
        "you want to choose between the geometry of Procrustes and the linear information of CCA "
        "by one parameter.",
        "Whitening lets directions of small variance count, which needs more samples. State alpha "
        "with the value.",
    ),
    "soft_correlation_match": Advice(
        "you ask whether each neuron has at least one similar neuron on the other side.",
        "Several neurons may share one partner, so redundant neurons raise the value. A rotation "
        "changes it.",
    ),
    "soft_matching": Advice(
        "you compare neurons of layers of different widths with a true distance.",
        "Scale and offset count, as in permutation Procrustes. A rotation changes it.",
    ),
    # Similarity matrices
    "bures": Advice(
        "you compare covariances between samples with a true distance that keeps sizes.",
        "It equals the Procrustes distance with sizes kept; both in one table are one measure "
        "counted twice. It grows with n and with scale.",
    ),
    "cka": Advice(
        "you want the measure that most papers report, for the geometry of the directions of large "
        'variance. Use `estimator="debiased"` unless n is much larger than d.',
        "The biased default is high for unrelated data when d is large against n. A few directions "
        "of large variance, or a few outliers, decide the value.",
    ),
    "distance_correlation": Advice(
        "you want to detect any dependence between all pairwise distances, not only a linear one.",
        "The biased estimate is well above 0 for unrelated data of many features. Read it against "
        "its chance level.",
    ),
    "eigenspace_overlap": Advice(
        "you ask whether two embeddings span the same column space, as in work on compressed word "
        "embeddings.",
        "Every direction counts alike and columns are not centred. With n at or below d the value "
        "is fixed by the shapes.",
    ),
    "ensd": Advice(
        "you want the similarity as a number of shared dimensions rather than a fraction.",
        "It has no fixed maximum: X with itself gives its own effective dimension. Report both "
        "self-similarities with it.",
    ),
    "gulp": Advice(
        "you ask how far the predictions of ridge regressions on two representations can differ, "
        "whatever the target.",
        "Without a ridge it weighs all directions alike and depends on the number of features; "
        "with a ridge it depends on the scale of the data.",
    ),
    "kcka": Advice(
        "you want kernel alignment of local neighbourhoods with an exponential kernel.",
        "k and the width of the kernel decide what is local. The authors' code computes a variant: "
        "see the page on implementations that disagree.",
    ),
    "mka": Advice(
        "you compare manifolds by their neighbourhoods, with a kernel that adapts to the density.",
        'Unrelated data are far from 0 unless `baseline="permutation"` is set. State k; the '
        "paper uses 100.",
    ),
    "nbs": Advice(
        "you want the similarity that belongs to the Procrustes distance, between 0 and 1.",
        "It is the cosine of the angular shape distance, so both carry the same information. "
        "Unrelated data of n near or below d score high.",
    ),
    "pwcka": Advice(
        "you want CKA of the leading principal components only.",
        "Linear CKA is dominated by these components anyway, so both mostly agree.",
    ),
    "riemannian": Advice(
        "you compare Gram matrices with a distance in which small eigenvalues count as much as "
        "large ones.",
        "Small eigenvalues are the least certain, and the regularisation decides how much they "
        "weigh. Report its value.",
    ),
    "rsa": Advice(
        "you compare with studies of brains or behaviour, or only dissimilarities are known.",
        "The default, correlation distance with Spearman correlation, is changed by an offset. "
        "Pairs of samples are not independent: test by permuting samples, never pairs.",
    ),
    "rsm_norm_difference": Advice(
        "you want the plain difference between two matrices of distances, sizes included.",
        "It grows with n and with scale. The largest distances decide, so outliers do.",
    ),
    # Neighbourhoods
    "cknna": Advice(
        "you compare with the platonic-representation studies: kernel alignment restricted to "
        "common neighbours.",
        "Common offsets count. Small k makes it noisy, and k near n turns it into CKA.",
    ),
    "cycle_knn": Advice(
        "you want a lenient test of whether neighbourhoods lead back to the sample.",
        "It saturates: chance is high once k exceeds about the root of n. Compare with the chance "
        "level, or set `corrected=True`.",
    ),
    "edit_distance_knn": Advice(
        "the order of the neighbours matters as well as the set.",
        "It is strict: 10 % of noise lowers it a lot. It suits nearly equal representations.",
    ),
    "information_imbalance": Advice(
        "you ask whether distances in X determine distances in Y, and whether the reverse holds.",
        "It has a direction by design; report both. 0 is the most similar value and about 1 is "
        "independence.",
    ),
    "jaccard": Advice(
        "you ask whether the same samples are close to each other, as retrieval and clustering "
        "need.",
        "It uses cosines of rows as they are, so a common offset changes it. It depends on k/n: "
        "compare equal k and n only.",
    ),
    "lcs_knn": Advice(
        "you ask how much of the order of the neighbours is kept.",
        "It is strict and depends on k. Ties are resolved by convention.",
    ),
    "mutual_knn": Advice(
        "you compare with the platonic-representation studies, or want the simplest overlap of "
        "neighbours.",
        "Chance is k/(n - 1), more with tied distances; `corrected=True` takes it out.",
    ),
    "rank_similarity": Advice(
        "near neighbours should count more than far ones.",
        "Only common neighbours are ranked, so few common neighbours make it noisy.",
    ),
    "second_order_cosine": Advice(
        "you compare word embeddings or other data that are read by cosine, around each sample.",
        "Profiles of positive cosines are similar in any case: unrelated data may score high. "
        "The ReSi code uses cosine distances, which raise the values further.",
    ),
    # Topology
    "imd": Advice(
        "you compare the shapes of two clouds whose samples do not correspond.",
        "It does not know which sample is which: shuffling the rows of one side changes nothing. "
        "Its scale has no natural unit.",
    ),
    "rtd": Advice(
        "you ask whether clusters and loops appear at the same scales for the same samples.",
        "It is slow and works on subsets of samples. Added noise in many columns gives it values "
        "far above those of unrelated data.",
    ),
    "rtd_lite": Advice(
        "you want a fast relative of RTD that looks at clusters alone.",
        "Loops are invisible to it. Its scale depends on n.",
    ),
    # Statistics
    "concentricity_difference": Advice(
        "you ask whether two representations differ in how narrow the cone of their samples is.",
        "It compares one number per representation, so a small value does not mean that samples "
        "agree. Unrelated data may score as equal.",
    ),
    "eigenspectrum_similarity": Advice(
        "you compare how variance is spread over dimensions, without asking which directions.",
        "Any two decaying spectra are similar, and the pairing of samples does not enter.",
    ),
    "magnitude_difference": Advice(
        "you ask whether the mean activation has moved.",
        "It compares one number per representation and depends on scale.",
    ),
    "mmd": Advice(
        "you compare two clouds as distributions in the same coordinates, as in tests for drift.",
        "A rotation or permutation of the columns changes it, so it suits versions of one model, "
        "not two models. The pairing of samples does not enter.",
    ),
    "sliced_wasserstein": Advice(
        "you ask how far samples must travel between two clouds in the same coordinates.",
        "Columns must correspond, and the value has the units of the data. Directions are drawn at "
        "random from a seed.",
    ),
    "uniformity_difference": Advice(
        "you compare how evenly normalised embeddings cover the sphere, as in contrastive "
        "learning.",
        "It compares one number per representation. A common offset decides it.",
    ),
    # Outputs
    "accuracy_difference": Advice(
        "you want to know whether two classifiers are equally good.",
        "Equally accurate classifiers may err on different samples. It needs the labels.",
    ),
    "disagreement": Advice(
        "you ask how often two classifiers predict different classes.",
        "It is bounded by accuracies: two accurate classifiers cannot disagree much. Probabilities "
        "do not enter.",
    ),
    "jensen_shannon": Advice(
        "you compare predicted distributions, not only the predicted classes.",
        "It depends on calibration: a change of temperature changes it with every prediction kept.",
    ),
}
