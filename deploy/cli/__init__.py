"""The commands of ``kennel`` that need the server's packages; the client (``kennel_client.cli``) has the others."""
