"""The zoo: small generators that memorise or not, and which of them each test for copying detects.

plan: sizes of the zoo, and its seeds
trainings: the networks and how they are trained; entries without a network
entry_cache: the trainings by name, and a cache of their entries
entries: methods, labels, and the entries of the zoo, mixed ones too
cached_extractors: extractors whose features are cached
spaces: a track's prepared reference, and an entry's scores and evidence on it
seeds: the making of one seed
outcomes: the stored results, a file for each seed
detection: AUC and detection rates of every kind of evidence; intervals: how sure they are
targets: what was meant to be reached, and what was
figures: the figures of ZOO.md; tables: its tables; page: its text
__main__: the command ``python -m benchmarks.zoo``
"""
