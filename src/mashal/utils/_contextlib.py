"""The base of context managers that are decorators too."""

from ..autograd.grad_mode import _Mode as _DecoratorContextManager

_NoParamDecoratorContextManager = _DecoratorContextManager

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager"]
