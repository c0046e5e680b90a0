"""Benchmarks of speed and reproductions of papers, with the commands that make their pages.

harness: how anything is measured: separate processes, rounds, stored results, the report
speed: what RESULTS.md claims, against named peers in one run (``make bench``)
gpu: what one GPU could do, by counted work and measured host work; GPU.md
load: what the real service bears, and whether it keeps its word meanwhile (``make load``); LOAD.md
scale: a whole competition with 1 to 64 workers, a thousand at once, and what they need (``make scale``); SCALE.md
gpu_check: whether a GPU works for Kennel, on machines that have one (``make gpu-check``)
zoo: small generators that memorise or not, and which test detects which; ZOO.md
papers: figures and tables of papers, made again, RECOVERY.md; how often intervals hold, COVERAGE.md
__main__: the command ``python -m benchmarks``
"""
