"""``kennel admin installation doctor``: what is wrong with an installation, and how it is mended.

examination: all checks, in order, and their outcomes.
check: what a check is, and how it says that something is wrong.
installation: settings and connections that checks share.
local_parts: which parts of the service run on this machine.
machine: this machine: variables, disk, limits, secrets, weights, GPU, sandbox.
database: PostgreSQL: version, settings, tables, rights, clock, connections.
queue_server: Valkey or Redis: memory, disk, password.
blob_store: the store: what it lets us do, and whether entries' zips are there.
work: workers, sweeps, jobs, mails and webhooks that wait.
surroundings: the public address, the proxy, the mail server, the malware scanner, the OpenID Connect issuer.
"""
