"""What Kennel claims about speed, measured against named peers in one run: ``make bench`` writes RESULTS.md."""
