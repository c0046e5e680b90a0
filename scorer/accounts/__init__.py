"""Accounts: sign-up, authentication, roles and rate limits.

roles: participant, reviewer, organizer, admin; checks that an account has one
accounts: account rows: handles, names, mail addresses, role and password changes
credentials: all by which somebody acts as an account's owner, and its end
last_organizers: no act takes the last organizer from a competition
administration: what admins do with others' accounts
password_hashing: password rules and argon2id hashes
one_time_links: secret addresses that work once and expire
sign_up: new accounts, confirmed mail addresses, invitations
password_resets: a new password by a mailed link
sign_in_links: signing in once, by a link in the terminal
oidc_identities: accounts of people whom an OpenID Connect issuer authenticates
sessions: signed-in browsers
second_factors: one-time codes, recovery codes, and where a second factor is required
passkeys: passkeys as second factors (WebAuthn)
known_devices: browsers in which an account has signed in before
api_tokens: scoped secrets for programs
rate_limits: requests per account and address, a sliding window in Redis
"""
