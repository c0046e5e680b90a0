"""The subcommands for participants.

login: ``kennel login`` and ``logout``.
account: ``kennel my-data`` and ``delete-account``.
competitions: ``kennel competitions``, ``rules``, ``leaderboard`` and ``pick``.
submissions: ``kennel submit``, ``status`` and ``cancel``.
generators: ``kennel generator``.
submit: the steps of ``kennel submit``: begin an upload, check, upload the rest.
check: the deep check of a zip on the participant's machine.
resumable_state: unfinished uploads, remembered in the user's state folder.
follow: an entry's progress from its server-sent events.
connection: the authenticated client of a command, and its errors.
credentials: the stored URL and token.
tables: answers as tables and text.
formatting: times, numbers, text that is safe to print on a terminal.
options: options that several commands share.
"""
