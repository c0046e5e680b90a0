"""Metrics: arrays in, numbers out. Pure: no torch, no SQL, no files; formulas in ``docs/explanation/metrics.md``.

Modules write ``import scipy`` alone, which loads its subpackages on first use: ``scipy.stats`` takes 1 s and 60 MB;
the web process imports these modules for their constants.

threads: parts of one computation beside each other
features: checks that every metric makes of a feature matrix
cosine, euclidean: exact nearest neighbours at the speed of matrix products
pairing, paired_cosines: one pass over all pairs of two sets, for all that is asked of their distances
memorization: nearest reference images by cosine distance; the memorization distance s
mifid: the score, MiFID = FID * penalty(s, tau)
statistics: tests, correlations, agreement of raters, the choice of tau
sample_quality: FID, KID, PRDC and other distances between two sets of features
copying: tests for copied training images
metric_catalogue: the metrics that a shown track can have, by name
"""
