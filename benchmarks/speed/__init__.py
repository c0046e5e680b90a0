"""Benchmarks of speed: a module measures and reports, its ``_contenders`` are the functions that are timed.

scoring, scoring_contenders, scoring_inputs: from a zip to a score, against four peers
frechet, frechet_contenders: the Fréchet distance alone
neighbours, neighbours_contenders: nearest neighbours by cosine
tracks, tracks_contenders: both tracks of one zip, time and peak memory
references: loading a prepared reference
standings, standings_runs, standings_requests: a large board, and the pages made of it, over HTTP
queue, queue_runs: claims of many workers on a long job queue
shared_images: an entry compared with all others; which altered copies are found
releases: the images of an entry in a data release, decoded and encoded anew
busy_core: a score beside another program that keeps a core busy
evidence, evidence_contenders: all tests for copying of one submission
"""
