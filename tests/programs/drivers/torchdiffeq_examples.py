"""rtqichen/torchdiffeq: every solver and its adjoint with gradients, events, and the example ode_demo.py."""

import numpy as np
import torch
from _driver import clock, modules, numbers, report, script

modules()
modules("examples")
from bouncing_ball import BouncingBallExample  # noqa: E402
from torchdiffeq import odeint, odeint_adjoint  # noqa: E402

torch.manual_seed(0)
found = []
matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]], dtype=torch.float64)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).double()

    def forward(self, t, y):
        return self.net(y**3) + y @ matrix * torch.cos(t)


field = Field()
times = torch.linspace(0, 1, 5, dtype=torch.float64, requires_grad=True)
start = torch.tensor([[2.0, 0.0], [0.5, 1.0]], dtype=torch.float64, requires_grad=True)
fixed = ("euler", "midpoint", "heun2", "heun3", "rk4", "explicit_adams", "implicit_adams")
with clock():
    for method in ("dopri8", "dopri5", "bosh3", "fehlberg2", "adaptive_heun", "tsit5", "scipy_solver", *fixed):
        options = {"step_size": 0.05} if method in fixed else {}
        if method == "scipy_solver":
            options = {"solver": "LSODA"}
        for solve in (odeint, odeint_adjoint):
            if method == "scipy_solver" and solve is odeint:
                continue
            out = solve(field, start, times, method=method, options=options, rtol=1e-5, atol=1e-6)
            out.square().mean().backward()
            found += [*out[-1].flatten().tolist(), *start.grad.flatten().tolist(), times.grad[2].item()]
            found += [p.grad.sum().item() for p in field.parameters()]
            field.zero_grad()
            start.grad = times.grad = None
torch.set_default_dtype(torch.float64)
with clock():
    system = BouncingBallExample()
    bounces = system.get_collision_times(3)
    bounces[-1].backward()
    found += [*(t.item() for t in bounces), *(p.grad.item() for p in system.parameters())]
torch.set_default_dtype(torch.float32)

np.random.seed(0)  # noqa: NPY002 - what the examples draw from
for extra in ((), ("--adjoint",)):
    said = script("examples/ode_demo.py", "--niters=10", "--test_freq=5", "--data_size=100", *extra)
    found += numbers(r"Loss ([\d.]+)", said)
report(found)
