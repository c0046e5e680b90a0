"""The reference pages of ``docs/reference/``, generated from the code that they describe.

settings: environment variables, rate limits, a competition's fields.
commands: every command with its options.
problems: every error slug with its status and sentences.
operations: every operation of the API.
markdown: tables and escaping.
"""
