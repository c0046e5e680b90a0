"""Benchmarks of speed (``make bench``); functions that take a ``folder`` are timed.

scoring (scoring_contenders, scoring_inputs), frechet, neighbours, tracks, references, queue, evidence, shared_images,
releases, busy_core, host_stages, commands, everyday; standings (standings_requests, standings_runs).
"""
