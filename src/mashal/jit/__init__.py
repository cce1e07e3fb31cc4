"""TorchScript's names, where programs run eagerly: marks do nothing, :func:`script` returns what it is given.

A scripted function or module computes what it computes without scripting, so this changes no result. What needs a graph
(:func:`trace`, :func:`save`, :func:`load`) raises NotImplementedError until there is one.
"""

from __future__ import annotations

from . import annotations as annotations
from ._marks import Attribute as Attribute
from ._marks import Final as Final
from ._marks import _overload as _overload
from ._marks import _overload_method as _overload_method
from ._marks import annotate as annotate
from ._marks import export as export
from ._marks import ignore as ignore
from ._marks import interface as interface
from ._marks import is_scripting as is_scripting
from ._marks import is_tracing as is_tracing
from ._marks import isinstance as isinstance
from ._marks import unused as unused
from ._script import CompilationUnit as CompilationUnit
from ._script import Error as Error
from ._script import RecursiveScriptModule as RecursiveScriptModule
from ._script import ScriptFunction as ScriptFunction
from ._script import ScriptModule as ScriptModule
from ._script import ScriptWarning as ScriptWarning
from ._script import TopLevelTracedModule as TopLevelTracedModule
from ._script import TracedModule as TracedModule
from ._script import TracerWarning as TracerWarning
from ._script import TracingCheckError as TracingCheckError
from ._script import enable_onednn_fusion as enable_onednn_fusion
from ._script import fork as fork
from ._script import freeze as freeze
from ._script import fuser as fuser
from ._script import load as load
from ._script import onednn_fusion_enabled as onednn_fusion_enabled
from ._script import optimize_for_inference as optimize_for_inference
from ._script import optimized_execution as optimized_execution
from ._script import run_frozen_optimizations as run_frozen_optimizations
from ._script import save as save
from ._script import script as script
from ._script import script_if_tracing as script_if_tracing
from ._script import script_method as script_method
from ._script import set_fusion_strategy as set_fusion_strategy
from ._script import set_module as set_module
from ._script import strict_fusion as strict_fusion
from ._script import trace as trace
from ._script import trace_module as trace_module
from ._script import wait as wait

ScriptModule.__module__ = RecursiveScriptModule.__module__ = __name__
