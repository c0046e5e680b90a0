"""The zoo: small generators that memorise or not, and which of them each test for copying detects.

plan: sizes of the zoo
models: the networks; training: what all trainings share
adversarial, autoencoders, one_hot: trained entries; untrained: entries without a network
entry_cache: the trainings by name, and a cache of their entries
entries: methods, labels, and the entries of the zoo, mixed ones too
cached_extractors: extractors whose features are cached
spaces: a track's prepared reference, and an entry's scores and evidence on it
outcomes: the stored results
detection: AUC and detection rates of every kind of evidence
figures: the figures of ZOO.md; page: its text
__main__: the command ``python -m benchmarks.zoo``
"""
