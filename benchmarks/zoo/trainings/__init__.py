"""Trainings of the zoo: models, and what a training has; adversarial, autoencoders, diffusion, one_hot, untrained."""
