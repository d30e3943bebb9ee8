# SPDX-License-Identifier: Apache-2.0
"""torch.autograd.grad in a module's forward trains in dlc as in PyTorch.

Needs torch, onnx and onnxscript in the environment of DLC_TORCH_PYTHON, an interpreter.
"""

import wheel

wheel.enter_torch()

import unittest

import dlc
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class Derivatives(wheel.TorchCase):
    def movements_equal(self, module, losses, inputs, session, found):
        """Ten steps of SGD by PyTorch: losses, and what each parameter moved, as the session's. `found`: losses of its same
        steps; `losses`: a list of scalars of what the module returns."""
        before = {name: parameter.detach().clone() for name, parameter in module.named_parameters()}
        optimizer, expected = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9), []
        for x in inputs:
            optimizer.zero_grad()
            loss = sum(losses(module(x.clone())))
            loss.backward()
            optimizer.step()
            expected.append(loss.item())
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        for name, parameter in module.named_parameters():
            moved = (parameter.detach() - before[name]).numpy()
            np.testing.assert_allclose(np.asarray(session.state[name]) - before[name].numpy(), moved, rtol=0,
                                       atol=2e-6 * max(1, np.abs(moved).max()), err_msg=name)

    def test_forces_are_gradients_in_forward(self):
        class Energy(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(3, 16), nn.Softplus(), nn.Linear(16, 1))

            def forward(self, x):
                x.requires_grad_()
                energy = self.net(x)
                slope, = torch.autograd.grad(energy, x, torch.ones_like(energy), create_graph=True)
                return energy, -slope

        module, inputs = Energy(), [torch.randn(8, 3) for _ in range(10)]
        session = dlc.Session(dlc.from_torch(module, inputs[0], f"{self.folder}/e.dlc", output_names=["energy", "force"],
                                             loss="energy:mse:0.1,force:mse", optimizer="sgd", lr=0.05, momentum=0.9))
        wanted = [((x * x).sum(1, keepdim=True) / 2, -x) for x in inputs]
        found = session.train((x, *both) for x, both in zip(inputs, wanted))
        rest = iter(wanted)

        def losses(made):
            energy, force = next(rest)
            return [0.1 * F.mse_loss(made[0], energy), F.mse_loss(made[1], force)]

        self.movements_equal(module, losses, inputs, session, found)

    def test_a_gan_whose_slopes_are_bounded(self):
        class Gan(nn.Module):
            def __init__(self):
                super().__init__()
                self.d = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
                self.g = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))

            def forward(self, x, z, share):
                made = self.g(z)
                between = share * x + (1 - share) * made.detach()
                between.requires_grad_()
                slope, = torch.autograd.grad(self.d(between).sum(), between, create_graph=True)
                penalty = (slope.norm(dim=1) - 1).square().mean()
                of_d = self.d(made).mean() - self.d(x).mean() + 10 * penalty
                return of_d, -self.d(made).mean()

        module, inputs = Gan(), [(torch.randn(8, 2) + 1, torch.randn(8, 4), torch.rand(8, 1)) for _ in range(10)]
        session = dlc.Session(dlc.from_torch(module, inputs[0], f"{self.folder}/w.dlc", output_names=["of_d", "of_g"],
                                             loss="of_d:graph,of_g:graph", loss_params=["^d:of_d", "^g:of_g"],
                                             optimizer="sgd", lr=0.05))
        session.train(inputs)
        start = {name: parameter.detach().clone() for name, parameter in module.named_parameters()}
        both = [list(module.d.parameters()), list(module.g.parameters())]
        for batch in inputs:
            losses = module(*batch)
            gradients = [torch.autograd.grad(loss, own, retain_graph=True) for loss, own in zip(losses, both)]
            with torch.no_grad():
                for parameter, gradient in zip(sum(both, []), sum(map(list, gradients), [])):
                    parameter -= 0.05 * gradient
        for name, parameter in module.named_parameters():
            np.testing.assert_allclose(np.asarray(session.state[name]) - start[name].numpy(), (parameter - start[name]).detach().numpy(),
                                       rtol=0, atol=5e-6, err_msg=name)

    def test_gradients_of_gradients_in_forward(self):
        """A penalty on slopes, which no gradient enters twice (create_graph=False), and an equation of second derivatives."""
        class Residual(nn.Module):
            def __init__(self):
                super().__init__()
                self.net, self.unused = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1)), nn.Linear(2, 1)

            def forward(self, x):
                x.requires_grad_()
                u = self.net(x)
                first, none = torch.autograd.grad(u.sum(), (x, self.unused.weight), create_graph=True, allow_unused=True)
                assert none is None
                second, = torch.autograd.grad(first.square().sum(), x, create_graph=True)
                fixed, = torch.autograd.grad([u, (u * u)], x, [torch.ones_like(u), 2 * torch.ones_like(u)], retain_graph=True)
                penalty = (first.norm(dim=1) - 1).square().mean()
                return penalty + (second + u).square().mean() + (fixed * first).mean() + self.unused(x).square().mean()

        module, inputs = Residual(), [torch.randn(8, 2) for _ in range(10)]
        session = dlc.Session(dlc.from_torch(module, inputs[0], f"{self.folder}/r.dlc", output_names=["loss"], loss="loss:graph",
                                             optimizer="sgd", lr=0.05, momentum=0.9))
        found = session.train((x,) for x in inputs)
        self.movements_equal(module, lambda loss: [loss], inputs, session, found)

    def test_batched_gradients_are_refused(self):
        class Jacobian(nn.Linear):
            def forward(self, x):
                y = super().forward(x.requires_grad_())
                return torch.autograd.grad(y, x, torch.eye(2)[:, None].expand(2, len(x), 2), is_grads_batched=True, create_graph=True)[0][0]

        with self.assertRaisesRegex(dlc.BadModel, r"grad\(is_grads_batched=True\) has no form in ONNX"):
            dlc.from_torch(Jacobian(3, 2), torch.randn(4, 3), f"{self.folder}/j.dlc")


if __name__ == "__main__":
    unittest.main(verbosity=2)
