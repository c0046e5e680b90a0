"""The trainings of the zoo: networks that memorise and honest ones, and entries without a network.

models: the networks
training: what all trainings share
checkpoints: trainings that go on after they were cut off
adversarial, autoencoders, diffusion, one_hot: trained entries
untrained: entries without a network
"""
