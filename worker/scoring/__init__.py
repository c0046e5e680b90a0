"""Scoring of submissions, and what must be computed beforehand.

measure: features, nearest neighbours and Fréchet distance; no database
reference_features: images, features and statistics of reference sets, in the blob store
published_features: features of reference images in place of the images
feature_cache: an entry's features, kept from its score to its evidence
image_hashes: hashes of an entry's images, kept for its evidence and to compare other entries with it
provenance: versions of the libraries that a measurement depends on
prepare: the ``prepare`` job: a track's reference
check: the ``check`` job: the deep check of a submission
score: the ``score`` and ``rescore`` jobs: measure a submission on a track
compare: the ``compare`` job: a labelled entry with a candidate for the private extractor
shown_tracks: the ``rescore`` job of a shown track: a number that ranks nothing
rescore: measures a recorded submission again
verify: compares a repeated measurement with the recorded one
"""
