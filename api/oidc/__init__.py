"""OpenID Connect: signing in with an issuer of the operator's choice.

login: a login, from its beginning to the identity that the issuer vouches for
id_token: the check of a token, and the identity in it
issuer_metadata: what the issuer publishes, kept for some minutes, and a bound on its answers
"""
