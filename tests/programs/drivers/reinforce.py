"""pytorch/examples reinforcement_learning: REINFORCE and actor-critic on CartPole, till a bit better than chance."""

import gymnasium
from _driver import numbers, report, script

make = gymnasium.make


def easier(*arguments, **options):
    """The task, with a threshold that is met soon: the scripts go on until they have won."""
    env = make(*arguments, **options)
    env.spec.reward_threshold = 20
    return env


gymnasium.make = easier
found = []
for name in ("reinforce", "actor_critic"):
    said = script(f"reinforcement_learning/{name}.py", "--seed=543", "--log-interval=1")
    found += numbers(r"reward(?: is now|:) ([\d.]+)", said)
report(found)
