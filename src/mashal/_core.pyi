# Open: whatever the compiled module holds is Any to type checkers. Names that get a signature here become checked.
from typing import Any

def __getattr__(name: str) -> Any: ...
