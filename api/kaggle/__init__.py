"""The part of Kaggle's HTTP API that the official ``kaggle`` client uses. Rules and limits are those of the JSON API.

protocol: authentication, refusals and addresses as the client expects them
schemas: the client's messages
competitions: competitions and their boards
submissions: a team's submissions and limits
data_files: a competition's files
uploads: submitting a zip, whose bytes are sent with a secret of the upload
tokens: whose API token it is
router: all of these routes, hidden from the OpenAPI document
"""
