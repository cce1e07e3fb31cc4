"""seungeunrho/minimalRL: its algorithms on CartPole and Pendulum, a few dozen episodes each."""

import random
import sys
import types

import gymnasium
import numpy as np
import torch
from _driver import numbers, report, script, shorter

# gym's present interface; the first episode of an environment has a seed.
gym = types.ModuleType("gym")


class Seeded(gymnasium.Wrapper):
    fresh = True

    def reset(self, **named):
        if self.fresh:
            named["seed"] = 0
        self.fresh = False
        return self.env.reset(**named)


def make(name, autoreset=False, **named):
    return Seeded(gymnasium.make(name, **named))


gym.make = make
sys.modules["gym"] = gym

found = []
for name, episodes in (
    ("REINFORCE", 61), ("actor_critic", 41), ("ppo", 41), ("ppo-lstm", 21), ("vtrace", 41), ("dqn", 61),
    ("acer", 121), ("sac", 21), ("ddpg", 21),
):  # fmt: skip
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - what the program draws from
    said = script(f"{name}.py", names={"range": shorter(episodes, at_least=10000)})
    scores = numbers(r"score : ([-\d.]+)", said) + numbers(r"alpha:([\d.]+)", said)
    assert scores, said
    found += scores
report(found)
