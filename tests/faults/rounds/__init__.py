"""Rounds of fault injection: the real service, real clients, one seeded fault, then every promise checked.

``python -m tests.faults.rounds --rounds 100`` (or ``make faults ROUNDS=100``). A seed decides everything that a round
chooses by itself; the scheduling of processes it cannot decide.

stack: the service as processes, with proxies before PostgreSQL, the queue server and the web process
proxy: a TCP proxy that refuses, falls silent, cuts, and loses COMMITs
steps: the steps of an entry, as conditions on the database
traffic: teams that upload through the real client
fault_kinds: every kind of fault by name; process_faults, storage_faults, broker_faults, clock_faults, race_faults
invariants: what must hold when everything is at rest
board_definition: the boards by their definition, from the tables
report: one JSON line a round, and the counts
round: one round
"""
