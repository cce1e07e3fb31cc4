"""Names at their place in Python 3."""

import urllib
import urllib.request

__all__ = ["urllib"]
