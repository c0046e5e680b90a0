"""Evidence of copying beside a score: every test of an entry against its references, and audits of its generator.

thumbnails: 8 x 8 thumbnails and perceptual hashes of the reference images
array_cache: the type of a cache of named arrays
reference: what the training and held-out images alone determine, computed once for all entries
distance_passes: the passes over distances of which several tests take their part
analysis: one entry against its references; what several tests need is computed once
methods: the tests, in their order
details: examples to point at, and the columns of the evidence row
report: runs all tests and composes their findings
image_comparison: which images other teams' entries have, too
evidence_job: the job that makes and records evidence
entry_sample: images of an entry that its generator's audit looks for, and what they are near to
generator_audit: the job that audits an uploaded generator
"""
