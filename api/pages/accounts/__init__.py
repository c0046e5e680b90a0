"""Pages of accounts.

sign_in: sign-up, sign-in, sign-out, password reset, confirmation of an address.
second_factors: the second step of signing in, and setting it up.
oidc: sign-in with an OpenID Connect issuer.
administration: others' accounts, for admins.
account: a person's own account: address, API tokens, password, sessions.
"""
