"""The other side of tests/benches/methods.rs: `methods_theirs.py FOLDER PART`. `data` makes the data; `inlp` fits scikit-learn's logistic
regression with the projections of the authors' code, `rlace` times steps of the authors' algorithm, `pgd` attacks with PyTorch.
Prints lines of `figure | seconds | what`."""

import os
import sys
import time
from pathlib import Path

import numpy as np

ROWS, WIDTH, HIDDEN, ATTACKED = 20_000, 768, 256, 5_000
THREADS = os.cpu_count()


def data(folder):
    """Coordinates that depend on each other, as hidden states' do, and a label that shows in several directions, less in each."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0]
    sizes = np.arange(1, WIDTH + 1) ** -0.5
    y = (rng.random(ROWS) < 0.4).astype(np.float32)
    z = rng.standard_normal((ROWS, WIDTH)) * (sizes * np.sqrt(WIDTH / (sizes**2).sum()))
    z[:, 4:24] += (2 * y[:, None] - 1) * np.linspace(1.0, 0.1, 20)
    x = (z @ turn).astype(np.float32)
    x.tofile(folder / "x.f32")
    y.tofile(folder / "y.f32")
    # A network that has been trained: gradients of a fresh one say little of an attack's work.
    import torch

    torch.manual_seed(0)
    net = network(torch)
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)
    tx, ty = torch.from_numpy(x), torch.from_numpy(y).long()
    for _ in range(2):
        for rows in torch.randperm(ROWS).split(64):
            adam.zero_grad()
            torch.nn.functional.cross_entropy(net(tx[rows]), ty[rows]).backward()
            adam.step()
    for name, layer in zip(["w1", "w2", "w3"], net[::2]):
        layer.weight.detach().numpy().T.copy().tofile(folder / f"{name}.f32")


def network(torch):
    sizes = [WIDTH, HIDDEN, HIDDEN, 2]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(a, b, bias=False), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def load(folder):
    x = np.fromfile(folder / "x.f32", dtype=np.float32).reshape(ROWS, WIDTH)
    return x, np.fromfile(folder / "y.f32", dtype=np.float32).astype(int)


def rowspace(w):
    import scipy.linalg

    if np.allclose(w, 0):
        return np.zeros((w.shape[1], w.shape[1]))
    basis = scipy.linalg.orth(w.T)
    return basis @ basis.T


def inlp(folder):
    from sklearn.linear_model import LogisticRegression

    x, y = load(folder)
    rounds = int(os.environ.get("PROBITY_BENCH_ROUNDS", "40"))
    begun, spaces, cleaned = time.perf_counter(), [], x
    for _ in range(rounds):
        fit = LogisticRegression(C=1.0, fit_intercept=False, max_iter=1000).fit(cleaned, y)
        spaces.append(rowspace(fit.coef_.astype(np.float64)))
        removed = rowspace(np.sum(spaces, axis=0))
        cleaned = (x @ (np.eye(WIDTH) - removed)).astype(np.float32)
    print(f"theirs: INLP, {rounds} rounds | {time.perf_counter() - begun:.2f} | scikit-learn, projections from scratch each round")


def rlace(folder):
    """The step of the authors' solve_adv_game: both players by autograd and SGD, P decomposed and projected after its own."""
    import torch

    x, y = load(folder)
    x, y = torch.from_numpy(x), torch.from_numpy(y).float()
    torch.manual_seed(0)
    torch.set_num_threads(THREADS)
    p = (0.1 * torch.randn(WIDTH, WIDTH)).requires_grad_()
    net, eye = torch.nn.Linear(WIDTH, 1), torch.eye(WIDTH)
    sgd = [torch.optim.SGD([p], lr=0.005, weight_decay=1e-5), torch.optim.SGD(net.parameters(), lr=0.005, weight_decay=1e-5)]
    loss = torch.nn.BCEWithLogitsLoss()
    times = []
    for _ in range(int(os.environ.get("PROBITY_BENCH_STEPS", "30"))):
        begun = time.perf_counter()
        for side, sign in ((0, -1), (1, 1)):
            rows = torch.randperm(ROWS)[:128]
            symmetric = (p + p.T) / 2
            sgd[side].zero_grad()
            (sign * loss(net(x[rows] @ (eye - symmetric)).squeeze(), y[rows])).backward()
            sgd[side].step()
            if side == 0:
                with torch.no_grad():
                    values, vectors = torch.linalg.eigh((p + p.T) / 2)
                    values = values.numpy()
                    low, high = values.min() - 1, values.max()
                    for _ in range(25):
                        t = (low + high) / 2
                        low, high = (t, high) if np.clip(values - t, 0, 1).sum() > 1 else (low, t)
                    p.data = vectors @ torch.diag(torch.from_numpy(np.clip(values - t, 0, 1)).float()) @ vectors.T
        times.append(time.perf_counter() - begun)
    print(f"theirs: a step of RLACE | {np.median(times):.4f} | least {min(times):.4f}, most {max(times):.4f}, {len(times)} steps, {THREADS} threads")


def pgd(folder):
    import torch

    x, y = load(folder)
    torch.set_num_threads(THREADS)
    net = network(torch)
    for name, layer in zip(["w1", "w2", "w3"], net[::2]):
        w = np.fromfile(folder / f"{name}.f32", dtype=np.float32).reshape(layer.in_features, layer.out_features)
        layer.weight.data = torch.from_numpy(w.T.copy())
        layer.weight.requires_grad_(False)
    h, wanted = torch.from_numpy(x[:ATTACKED]), torch.from_numpy(1 - y[:ATTACKED])
    radii = np.concatenate([np.geomspace(0.005, 0.2, 20), np.geomspace(0.2, 5.0, 10)[1:]])
    begun, reached = time.perf_counter(), 0
    for radius in radii:
        low, high, moved = h - radius, h + radius, h.clone()
        for _ in range(40):
            moved.requires_grad_(True)
            loss = torch.nn.functional.cross_entropy(net(moved), wanted, reduction="sum")
            slope = torch.autograd.grad(loss, moved)[0]
            with torch.no_grad():
                moved = torch.minimum(torch.maximum(moved - radius / 10 * slope.sign(), low), high)
        with torch.no_grad():
            reached += (net(moved).argmax(1) == wanted).sum().item()
    share = reached / (ATTACKED * len(radii))
    print(f"theirs: pgd, {len(radii)} radii x {ATTACKED} rows | {time.perf_counter() - begun:.2f} | {share:.4f} reach the wanted value, PyTorch, {THREADS} threads")


def autoattack(_):
    print("theirs: autoattack | - | the authors' code is not among the packages; see RESULTS.md")


if __name__ == "__main__":
    {"data": data, "inlp": inlp, "rlace": rlace, "pgd": pgd, "autoattack": autoattack}[sys.argv[2]](Path(sys.argv[1]))
