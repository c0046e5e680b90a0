"""A zoo of small generators that memorise or not, and what each test for copying detects of them.

plan: sizes of the zoo
models: the networks; training: what all trainings share
adversarial, autoencoders, one_hot: trained entries; untrained: entries without a network
making: makes every training's entries once and caches them
roster: methods, labels, and the entries of the zoo, mixed ones too
seeing: images to features, cached
spaces: a track's prepared reference, and an entry's scores and evidence on it
outcomes: the stored results
detection: AUC and detection rates of every kind of evidence
pictures: the figures; page: ZOO.md
__main__: the command ``python -m benchmarks.zoo``
"""
