"""``kennel admin`` without a server: what organizers and admins do through the API.

connection: where the service is, and who asks
competitions: setting competitions up, references, data files, imports, invitations
accounts: people: others' accounts, roles, announcements, teams, messages, requests for code
tuning: labels, tau, the private extractor, rescoring campaigns
publication: failed jobs, publication, data releases
pauses: pausing queues and competitions, draining workers
storage: what a competition's zips take in the store
"""
