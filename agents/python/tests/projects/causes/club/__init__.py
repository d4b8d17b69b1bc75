"""A club that has tests, each of which flakes for another reason."""
