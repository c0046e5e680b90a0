"""The reference pages of ``docs/reference/``, and ``.env.example``, generated from the code that they describe.

settings: environment variables, rate limits, a competition's fields.
commands: every command with its options.
env_example: the variables of the compose file.
problems: every error slug with its status and sentences.
operations: every operation of the API.
markdown: tables and escaping.
"""
