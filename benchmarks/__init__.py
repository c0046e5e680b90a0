"""Benchmarks of speed and load, and reproductions of papers. README.md lists their pages and commands.

harness: runs, results, pages; speed, load, scale: what the commands of those names measure; zoo: generators that
memorise; papers: reproductions; gpu_check: the check of a GPU.
"""
