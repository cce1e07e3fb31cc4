"""pranz24/pytorch-soft-actor-critic: main.py on Pendulum with each kind of policy, a few hundred updates."""

import sys
import types

import gymnasium
import numpy as np
import torch
from _driver import report, script
from torch.utils import tensorboard

# gym's interface of that time, and a length of episodes that lets the program end.
gym = types.ModuleType("gym")


class Environment:
    _max_episode_steps = 40

    def __init__(self, name):
        self.inner = gymnasium.make(name, max_episode_steps=self._max_episode_steps)
        self.action_space, self.observation_space = self.inner.action_space, self.inner.observation_space
        self.first_seed = None

    def seed(self, seed):
        self.first_seed = seed

    def reset(self):
        state, _ = self.inner.reset(seed=self.first_seed)
        self.first_seed = None
        return state

    def step(self, action):
        state, reward, terminated, truncated, info = self.inner.step(action)
        return state, reward, terminated or truncated, info

    def close(self):
        self.inner.close()


gym.make = Environment
sys.modules["gym"] = gym

logged = []
scalar = tensorboard.SummaryWriter.add_scalar


def add_scalar(self, tag, value, *arguments, **named):
    logged.append(float(value))
    scalar(self, tag, value, *arguments, **named)


tensorboard.SummaryWriter.add_scalar = add_scalar
torch.manual_seed(0)
np.random.seed(0)  # noqa: NPY002 - what the program draws from
for extra in (["--automatic_entropy_tuning=True"], ["--policy=Deterministic"]):
    script(
        "main.py", "--env-name=Pendulum-v1", "--num_steps=160", "--start_steps=60", "--batch_size=32",
        "--hidden_size=32", "--replay_size=1000", *extra,
    )  # fmt: skip
report(logged)
