"""The reference side of tests/benches/methods.rs: `methods_theirs.py FOLDER PART`. `data` generates the data; `inlp` fits
scikit-learn's logistic regression with the projections of the authors' code; `rlace` times steps of the authors' algorithm; `pgd`
and `autoattack` attack with PyTorch, reimplemented from the papers and the authors' code.
Prints lines of the form `figure | seconds | what`."""

import os
import sys
import time
from pathlib import Path

import numpy as np

ROWS, WIDTH, HIDDEN, ATTACKED = 20_000, 768, 256, 5_000
THREADS = os.cpu_count()


def data(folder):
    """Correlated coordinates, as in hidden states, and a label encoded in 20 directions with decreasing strength."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0]
    sizes = np.arange(1, WIDTH + 1) ** -0.5
    y = (rng.random(ROWS) < 0.4).astype(np.float32)
    z = rng.standard_normal((ROWS, WIDTH)) * (sizes * np.sqrt(WIDTH / (sizes**2).sum()))
    z[:, 4:24] += (2 * y[:, None] - 1) * np.linspace(1.0, 0.1, 20)
    x = (z @ turn).astype(np.float32)
    x.tofile(folder / "x.f32")
    y.tofile(folder / "y.f32")
    # A trained network, because gradients of an untrained one are not typical of an attack.
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
    """Times the step of the authors' solve_adv_game: both players use autograd and SGD, then P is decomposed and projected."""
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


def attacked(folder, count):
    """Returns the network, the first rows, the classes that the attack moves away from, and the paper's radii."""
    import torch

    x, y = load(folder)
    torch.set_num_threads(THREADS)
    net = network(torch)
    for name, layer in zip(["w1", "w2", "w3"], net[::2]):
        w = np.fromfile(folder / f"{name}.f32", dtype=np.float32).reshape(layer.in_features, layer.out_features)
        layer.weight.data = torch.from_numpy(w.T.copy())
        layer.weight.requires_grad_(False)
    radii = [float(r) for r in os.environ["PROBITY_BENCH_RADII"].split(",")]
    return net, torch.from_numpy(x[:count]), torch.from_numpy(y[:count]), radii


def pgd(folder):
    import torch

    net, h, y, radii = attacked(folder, ATTACKED)
    wanted = 1 - y
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


def slope(torch, net, x, y, of):
    """Returns the loss of each row, its gradient, and the logits."""
    x = x.detach().requires_grad_(True)
    logits = net(x)
    loss = of(logits, y)
    return loss.detach(), torch.autograd.grad(loss.sum(), x)[0], logits.detach()


def apgd(torch, net, h, y, radius, steps=100):
    """APGD-CE as in the standard version of the authors' code, without clamping to a range; returns the last adversarial point, if any."""
    of = lambda logits, y: torch.nn.functional.cross_entropy(logits, y, reduction="none")
    low, high = h - radius, h + radius
    u = 2 * torch.rand_like(h) - 1
    x = h + radius * u / u.abs().max(1, keepdim=True)[0]
    loss, grad, logits = slope(torch, net, x, y, of)
    met, fallen = x.clone(), logits.argmax(1) != y
    best, best_grad, highest = x.clone(), grad.clone(), loss.clone()
    size, before = torch.full((len(h), 1), 2 * radius), x.clone()
    share = lambda percent: max(int(percent * steps / 100), 1)
    wait, waited = share(22), 0
    last, rises, checked, halved = torch.full_like(loss, -np.inf), torch.zeros_like(loss), loss.clone(), torch.ones_like(loss, dtype=torch.bool)
    for i in range(steps):
        a = 0.75 if i else 1.0
        v = torch.minimum(torch.maximum(x + size * grad.sign(), low), high)
        moved = torch.minimum(torch.maximum(x + a * (v - x) + (1 - a) * (x - before), low), high)
        before, x = x, moved
        loss, grad, logits = slope(torch, net, x, y, of)
        over = logits.argmax(1) != y
        fallen |= over
        met[over] = x[over]
        rises += loss > last
        last = loss
        better = loss > highest
        highest[better], best[better], best_grad[better] = loss[better], x[better], grad[better]
        waited += 1
        if waited == wait:
            stuck = ~halved & (checked >= highest)
            halved = (rises <= 0.75 * wait) | stuck
            checked, rises = highest.clone(), torch.zeros_like(rises)
            size[halved] /= 2
            x[halved], grad[halved] = best[halved], best_grad[halved]
            wait, waited = max(wait - share(3), share(6)), 0
    return met, fallen


def fab(torch, net, h, y, radius, steps=100):
    """FAB for two classes, with one restart and without a box: the projection in closed form. Returns the nearest adversarial point within the radius."""
    of = lambda logits, y: (logits.gather(1, 1 - y[:, None]) - logits.gather(1, y[:, None]))[:, 0]
    x, nearest, least = h.clone(), h.clone(), torch.full((len(h),), np.inf)
    for _ in range(steps):
        gap, w, _ = slope(torch, net, x, y, of)
        offset = (w * x).sum(1) - gap
        length = w.abs().sum(1).clamp_min(1e-12)
        one, two = [((w * p).sum(1) - offset) / length for p in (x, h)]
        a1, a2 = one.abs().clamp_min(1e-8), two.abs().clamp_min(1e-8)
        a = (a1 / (a1 + a2)).clamp_max(0.1)[:, None]
        side = w.sign()
        x = (1 - a) * (x - 1.05 * one[:, None] * side) + a * (h - 1.05 * two[:, None] * side)
        with torch.no_grad():
            over = net(x).argmax(1) != y
        distance = (x - h).abs().max(1)[0]
        better = over & (distance < least)
        least[better], nearest[better] = distance[better], x[better]
        x[over] = h[over] + 0.9 * (x[over] - h[over])
    return nearest, least <= radius


def square(torch, net, h, y, radius, queries=5000):
    """The authors' Square attack on a vector: each query changes one window of neighbouring coordinates, the same for all rows."""
    draw = np.random.default_rng(0)
    margin = lambda x, y: (lambda z: (z.gather(1, y[:, None]) - z.gather(1, 1 - y[:, None]))[:, 0])(net(x))
    width = h.shape[1]
    with torch.no_grad():
        best = h + radius * (2 * torch.randint(0, 2, h.shape) - 1)
        margins = margin(best, y)
        for query in range(queries):
            left = (margins > 0).nonzero()[:, 0]
            if len(left) == 0:
                break
            share = 0.8 / 2 ** sum(query > after for after in (10, 50, 200, 500, 1000, 2000, 4000))
            size = max(round(share * width), 1)
            at, side = draw.integers(0, width - size + 1), 2 * radius * (2 * draw.integers(0, 2) - 1)
            x, near = best[left], h[left]
            x[:, at : at + size] += side
            x = torch.minimum(torch.maximum(x, near - radius), near + radius)
            new = margin(x, y[left])
            lower = new < margins[left]
            margins[left[lower]], best[left[lower]] = new[lower], x[lower]
    return best, margins <= 0


def autoattack(folder):
    """The authors' protocol: each attack runs on the rows that are still classified correctly, separately at every radius."""
    import torch

    rows = int(os.environ["PROBITY_BENCH_ROWS"])
    net, h, y, radii = attacked(folder, rows)
    torch.manual_seed(0)
    seconds, reached = {"apgd": 0.0, "fab": 0.0, "square": 0.0}, 0
    for radius in radii:
        moved = h.clone()
        with torch.no_grad():
            standing = (net(h).argmax(1) == y).nonzero()[:, 0]
        for attack in (apgd, fab, square):
            if len(standing) == 0:
                break
            begun = time.perf_counter()
            points, fallen = attack(torch, net, h[standing], y[standing], radius)
            moved[standing[fallen]] = points[fallen]
            standing = standing[~fallen]
            seconds[attack.__name__] += time.perf_counter() - begun
        with torch.no_grad():
            reached += (net(moved).argmax(1) != y).sum().item()
    share, parts = reached / (rows * len(radii)), ", ".join(f"{name} {s:.1f}" for name, s in seconds.items())
    print(f"theirs: autoattack, {len(radii)} radii x {rows} rows | {sum(seconds.values()):.2f} | {share:.4f} reach the wanted value, PyTorch, {THREADS} threads ({parts})")


if __name__ == "__main__":
    {"data": data, "inlp": inlp, "rlace": rlace, "pgd": pgd, "autoattack": autoattack}[sys.argv[2]](Path(sys.argv[1]))
