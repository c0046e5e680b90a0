"""Generators that memorise and generators that do not, made for real and small, and what each test sees of them."""
