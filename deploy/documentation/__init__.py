"""The reference pages of ``docs/reference/``, ``.env.example`` and the client's types of answers, generated from the
code that they describe.

settings: environment variables, rate limits, a competition's fields.
commands: every command with its options.
env_example: the variables of the compose file.
problems: every error slug with its status and sentences.
operations: every operation of the API.
answer_types: the types of what the API answers, for the client.
markdown: tables and escaping.
"""
