"""The ``kennel`` command of the client, for participants and organizers; it calls the API."""
