"""The commands of ``kennel`` that need the server's packages; the others are the client's (``kennel_client.cli``).

main: the whole command: what it lists, and which module each subcommand is in.
service: ``kennel up``, ``demo`` and ``migrate``.
scoring: ``kennel score`` and ``rescore``.
admin: ``kennel admin account create``: accounts, directly in the database.
admin_backups: ``kennel admin installation``: backup, verify-backup, restore.
admin_secrets: ``kennel admin installation rotate-secrets``: new passwords for the servers of a ``kennel up``.
admin_service: ``kennel admin installation service``: systemd units.
doctor: ``kennel admin installation doctor``: what is wrong with an installation, and the remedy.
migrate: the database's tables, or waiting for them.
server_faults: what a command says where the database or the queue server is away or refuses.
weights: ``kennel weights``: the extractors' weight files and their hashes.
score: both measurements of a zip without a server.
recovery: ``kennel recover``: latent recovery on a generator without a server.
rescore: measuring a recorded submission again.
image_files: zips and folders of images on this machine.
"""
