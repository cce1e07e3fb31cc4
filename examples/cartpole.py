"""Learn to balance a pole on a cart by policy gradient, against a learned baseline.

    python examples/cartpole.py

In the folder --out it leaves the policy and the curve of the returns. The task: Barto, Sutton, Anderson, 1983, with an
end after 500 steps; the method: Williams, "Simple Statistical Gradient-Following Algorithms", 1992. Needs
`pip install mashal[demo]`.
"""

import argparse
import math
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from tqdm import trange

import mashal as torch
from mashal import nn
from mashal.distributions import Categorical
from mashal.nn import functional as F

mpl.use("Agg")  # write files; open no window
from matplotlib import pyplot as plt

LIMIT = 500  # steps of an episode


class CartPole:
    """Position, speed, angle and angular speed (m, m/s, rad, rad/s); a push of 10 N left or right each 0.02 s."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def reset(self):
        self.state = self.random.uniform(-0.05, 0.05, 4)
        return self.state

    def step(self, right):
        """Push; return the state, and whether the pole has fallen over or the cart has left the track."""
        _, speed, angle, turn = self.state
        cart, pole, half_length, gravity, seconds = 1.0, 0.1, 0.5, 9.8, 0.02
        force = 10.0 if right else -10.0
        cosine, sine = math.cos(angle), math.sin(angle)
        pull = (force + pole * half_length * turn**2 * sine) / (cart + pole)
        turning = (gravity * sine - cosine * pull) / (half_length * (4 / 3 - pole * cosine**2 / (cart + pole)))
        moving = pull - pole * half_length * turning * cosine / (cart + pole)
        self.state = self.state + seconds * np.array([speed, moving, turn, turning])
        return self.state, abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)


class Policy(nn.Module):
    """Scores of the two pushes, and how much return is still to be expected."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 128), nn.Tanh())
        self.actor, self.critic = nn.Linear(128, 2), nn.Linear(128, 1)

    def forward(self, state):
        h = self.body(state)
        return self.actor(h), self.critic(h)[..., 0]


def play(policy, world):
    """Play an episode; return the log-probabilities, the expected returns and the entropies of its steps."""
    state, steps = world.reset(), []
    for _ in range(LIMIT):
        scores, expected = policy(torch.as_tensor(state, dtype=torch.float32))
        choice = Categorical(logits=scores)
        action = choice.sample()
        steps.append((choice.log_prob(action), expected, choice.entropy()))
        state, over = world.step(action.item())
        if over:
            break
    return (torch.stack(column) for column in zip(*steps, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("cartpole-out"), metavar="DIR")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(args.seed)
    world, policy = CartPole(args.seed), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    lengths = []
    for episode in (bar := trange(args.episodes, unit="episode", mininterval=0.5)):
        log_probs, expected, entropies = play(policy, world)
        returns, total = [], 0.0
        for _ in range(len(log_probs)):
            total = 1 + args.discount * total
            returns.append(total)
        returns = torch.tensor(returns[::-1]) * (1 - args.discount)  # the critic learns numbers up to 1
        better = returns - expected.detach()
        loss = -(log_probs * better).mean() / (better.std(correction=0) + 1e-3)
        loss = loss + F.mse_loss(expected, returns) - 0.01 * entropies.mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        lengths.append(len(log_probs))
        bar.set_postfix(steps=lengths[-1], refresh=False)
        recent = np.mean(lengths[-20:])
        if len(lengths) >= 20 and recent >= 475:
            bar.write(f"solved: {recent:.0f} steps in the mean of the last 20 of {episode + 1} episodes")
            break
    else:
        bar.write(f"{np.mean(lengths[-20:]):.0f} steps in the mean of the last 20 of {args.episodes} episodes")
    bar.close()

    torch.save(policy.state_dict(), args.out / "policy.pt")
    plt.figure(figsize=(6, 3.5), layout="constrained")
    plt.plot(lengths)
    plt.xlabel("episode")
    plt.ylabel("steps in balance")
    plt.savefig(args.out / "steps.png", dpi=120)
    print(f"see {args.out / 'steps.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
