"""The ``kennel`` command.

main: the command itself and the subcommands that need no sub-package.
admin: ``kennel admin``: accounts, competitions, references, imports.
admin_accounts: ``kennel admin``: people: accounts, roles, announcements, teams, messages, requests for code.
admin_tuning: ``kennel admin``: labels, tau, the private extractor, rescoring campaigns.
admin_publication: ``kennel admin``: failed jobs, publication, data releases.
admin_backups: ``kennel admin``: backup, verify-backup, restore.
admin_pauses: ``kennel admin``: pausing queues and competitions, draining workers.
migrate: ``kennel migrate``: the database's tables, or waiting for them.
admin_storage: ``kennel admin storage``: what a competition's zips take in the store.
admin_secrets: ``kennel admin rotate-secrets``: new passwords for the servers of a ``kennel up``.
admin_service: ``kennel admin service``: systemd units.
doctor: ``kennel admin doctor``: what is wrong with an installation, and the remedy.
weights: ``kennel weights``: the extractors' weight files and their hashes.
participant: the subcommands for taking part: login, check, submit, status, ...
score: ``kennel score``: both measurements of a zip without a server.
recover: ``kennel recover``: latent recovery on a generator without a server.
rescore: ``kennel rescore``: measuring a recorded submission again.
kaggle: ``kennel kaggle``: the official kaggle client, pointed at Kennel.
image_files: zips and folders of images on this machine.
progress: progress bars, or lines where there is no terminal.
exit_codes: exit statuses, and errors as text or JSON.
"""
