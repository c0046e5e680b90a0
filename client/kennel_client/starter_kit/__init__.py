"""Files that ``kennel start`` writes next to a competition's data. The client imports nothing from here."""
