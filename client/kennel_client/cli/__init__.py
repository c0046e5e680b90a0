"""The ``kennel`` command of the client: what participants and organizers do through the API."""
