"""pytorch/examples reinforcement_learning: REINFORCE and actor-critic on CartPole, a few episodes each."""

import itertools

from _driver import numbers, report, script

# The scripts go on until they have won: here for a hundred episodes each.
unending = itertools.count
itertools.count = lambda start=0, step=1: range(start, start + 100 * step, step)
found = []
for name in ("reinforce", "actor_critic"):
    said = script(f"reinforcement_learning/{name}.py", "--seed=543")
    found += numbers(r"reward: ([\d.]+)", said)
itertools.count = unending
report(found)
