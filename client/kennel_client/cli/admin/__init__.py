"""``kennel admin``: what organizers and admins do through the API, a module for each noun."""
