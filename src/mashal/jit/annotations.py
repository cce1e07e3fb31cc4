# ruff: noqa: PLC0414 - programs import these names from here
"""Types that TorchScript programs name."""

from typing import Any as Any
from typing import Dict as Dict  # noqa: UP035 - the name is what programs import
from typing import List as List  # noqa: UP035
from typing import Optional as Optional
from typing import Tuple as Tuple  # noqa: UP035
