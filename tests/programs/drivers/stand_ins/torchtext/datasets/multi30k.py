"""Where programs put the addresses of the data set."""

URL = {}
