"""The benchmark harness: isolated and interleaved runs, stored results, synthetic inputs, and the report.

compiled_modules: what started processes may keep
isolation: one run in a process of its own, with a fixed number of threads
machine: processor, memory and package versions
plan: sizes and repetitions, full and quick
rounds: contenders in turn, round after round; medians
processor_time: seconds by the clock and of processors
results: stored measurements, one JSON file each
changed_files: what has changed since the commit of a result
report: RESULTS.md from stored measurements
http_load: the HTTP load generator
visitor_requests, visitor_runs: random requests of visitors, for every address that can be read, and what they cost
standings_seeding: a large competition, written straight into the tables
line_charts: SVG line charts
synthetic: seeded features with a realistic spectrum
seeded_weights: random weights where trained ones are not bundled
networks: the extractor under test, and the plain network for peers
worker_context: a worker context without database and broker
"""
