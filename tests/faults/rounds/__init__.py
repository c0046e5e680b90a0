"""Rounds of fault injection. Each runs the real service and clients with a seeded fault, then checks all promises.

Run ``python -m tests.faults.rounds --rounds 100`` or ``make faults ROUNDS=100``. A seed determines all choices of a
round, but not the scheduling of processes.

- stack: the service as processes, with proxies in front of PostgreSQL, the queue server and the web process
- proxy: a TCP proxy that refuses, falls silent, cuts, and loses COMMITs
- steps: the steps of an entry, as conditions on the database
- traffic: teams that upload through the real client
- fault_kinds: every kind of fault by name; process_faults, storage_faults, broker_faults, clock_faults, race_faults
- invariants: conditions that hold once everything is at rest
- board_definition: the boards according to their definition, from the tables
- report: one JSON line per round, and the counts
- round: one round
"""
