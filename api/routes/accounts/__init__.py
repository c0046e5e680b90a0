"""JSON routes of accounts.

accounts: signing up, roles, passwords, mail addresses, invitations
administration: others' accounts, for admins
sessions: signing in and out, open sessions
second_factors: the second step of signing in, and setting it up
api_tokens: making and revoking API tokens
"""
