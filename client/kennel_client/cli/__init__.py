"""The ``kennel`` command of the client: what participants and organizers do through the API.

main: the command itself, and what it says of commands that only the server has.
login: ``kennel login`` and ``logout``.
account: ``kennel my-data`` and ``delete-account``.
check: ``kennel check``: a zip on the participant's machine.
start: ``kennel start``: a folder with a competition's data and a baseline.
competitions: ``kennel competitions``, ``rules``, ``leaderboard`` and ``pick``.
submissions: ``kennel submit``, ``status`` and ``cancel``.
generators: ``kennel generator``.
receipts: ``kennel receipt`` and ``verify``.
kaggle: ``kennel kaggle``: the official kaggle client, pointed at Kennel.
admin: ``kennel admin`` for organizers and admins, by noun.
groups: groups of commands that import each of them when it is called.
output: what commands answer, as text, table, CSV or JSON.
polling: waiting for what the service does in its own time.
follow: an entry's progress from its server-sent events.
connection: the authenticated client of a command, and its errors.
exit_codes: exit statuses, and errors as text or JSON.
tables: answers as tables and text.
formatting: times, numbers, text that is safe to print on a terminal.
streams: the encoding of standard output.
options: options that several commands share.
"""
