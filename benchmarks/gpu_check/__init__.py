"""The check of a GPU (``make gpu-check``): run it on a machine with CUDA and paste what it prints.

checks: the outcome as a page; work: counted work and measured peaks; networks, faults: what is checked; entries:
what the whole service scores.
"""
