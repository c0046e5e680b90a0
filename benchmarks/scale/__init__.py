"""A whole competition of 2019's shape, and a thousand at once (``make scale``), and what many competitions need.

parts: the numbers of workers; arrivals, clocked_web, simulation: how they are played; measured: what is shown;
thousand, thousand_runs: a thousand competitions; capacity: the tables of docs/how-to/plan-capacity.md.
"""
