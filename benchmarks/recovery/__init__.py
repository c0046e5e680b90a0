"""Latent recovery tried on generators that are known to remember, or not: Table 1 of Webster et al. 2019, small."""
