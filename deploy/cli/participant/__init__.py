"""What participants do from the command line: sign in, check, submit, follow, look, pick."""
