"""The commands of ``kennel`` that need the server's packages; the others are the client's (``kennel_client.cli``)."""
