"""JSON routes of accounts.

accounts: signing up, roles, passwords, mail addresses, invitations
sessions: signing in and out, open sessions
api_tokens: making and revoking API tokens
"""
