"""``kennel admin``: commands for organizers and admins that call the API, one module per noun."""
