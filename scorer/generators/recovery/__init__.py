"""Latent recovery: whether a generator reproduces training images better than held-out ones (Webster et al. 2019).

plan: how thoroughly a generator is searched
targets: which images it is searched for
lbfgs: batched L-BFGS
search: the latent points whose images are nearest to given images
by_encoder: recovery by an encoder in place of a search
distortions: distorted targets
audit: the recovery of training, held-out, generated and entry images
report: the results of an audit, without torch
"""
