"""Profiles of ops, with schedules, tables and traces."""

from ..autograd.profiler import KinetoStepTracker as KinetoStepTracker
from ..autograd.profiler import kineto_available as kineto_available
from ..autograd.profiler import record_function as record_function
from ..autograd.profiler_util import DeviceType as DeviceType
from .profiler import ExecutionTraceObserver as ExecutionTraceObserver
from .profiler import ProfilerAction as ProfilerAction
from .profiler import ProfilerActivity as ProfilerActivity
from .profiler import profile as profile
from .profiler import schedule as schedule
from .profiler import supported_activities as supported_activities
from .profiler import tensorboard_trace_handler as tensorboard_trace_handler
