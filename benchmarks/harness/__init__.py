"""What all benchmarks share.

isolation: runs in processes of their own; machine: where they run; results and report: what is stored and shown;
networks and synthetic: inputs; seeding, http_load, visitor_requests, visitor_runs: a large competition and its load.
"""
