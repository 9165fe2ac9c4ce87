"""The reference side of tests/benches/power.rs: power by simulation with statsmodels, and the grid of classifiers with scikit-learn and
PyTorch in three forms, on one thread. Prints lines of the form `name seconds value`."""

import sys
import time
import warnings

import numpy as np


def simulation(n, p01, p10, draws=5_000, level=0.05):
    from statsmodels.stats.contingency_tables import mcnemar

    rng = np.random.default_rng(0)
    begun = time.perf_counter()
    significant = 0
    for both, only_a, only_b in rng.multinomial(n, [1 - p01 - p10, p10, p01], size=draws):
        right = mcnemar([[both, only_a], [only_b, 0]], exact=True).pvalue < level
        significant += right and (only_a > only_b) == (p10 > p01)
    print("simulation", time.perf_counter() - begun, significant / draws)


RATES, BATCHES, EPOCHS, PATIENCE = [1e-4, 5e-4, 1e-3, 5e-3, 1e-2], [8, 16, 32, 64], 50, 5


def scikit(train, validation, seeds, hidden):
    """Trains scikit-learn's network, which draws its own validation examples, a tenth of the training examples."""
    from sklearn.neural_network import MLPClassifier

    warnings.simplefilter("ignore")
    epochs, best = 0, 0.0
    for seed in range(seeds):
        for rate in RATES:
            for batch in BATCHES:
                one = MLPClassifier((hidden,) if hidden else (), alpha=0.0, batch_size=batch, learning_rate_init=rate, max_iter=EPOCHS, early_stopping=True, n_iter_no_change=PATIENCE, tol=0.0, random_state=seed)
                one.fit(*train)
                epochs += one.n_iter_
                best = max(best, one.score(*validation))
    return epochs, best


def single(train, validation, seeds, hidden):
    """Trains one network after another, as tutorials do."""
    import torch
    from torch.nn.functional import cross_entropy

    x, y, vx, vy = map(torch.from_numpy, (*train, *validation))
    epochs, best = 0, 0.0
    for seed in range(seeds):
        torch.manual_seed(seed)
        for rate in RATES:
            for batch in BATCHES:
                net = torch.nn.Linear(x.shape[1], 2)
                if hidden:
                    net = torch.nn.Sequential(torch.nn.Linear(x.shape[1], hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 2))
                adam = torch.optim.Adam(net.parameters(), lr=rate)
                lowest, since, most = float("inf"), 0, 0.0
                for _ in range(EPOCHS):
                    epochs += 1
                    for rows in torch.randperm(len(x)).split(batch):
                        adam.zero_grad()
                        cross_entropy(net(x[rows]), y[rows]).backward()
                        adam.step()
                    with torch.no_grad():
                        logits = net(vx)
                        loss, right = cross_entropy(logits, vy).item(), (logits.argmax(1) == vy).float().mean().item()
                    most = max(most, right)
                    lowest, since = (loss, 0) if loss < lowest else (lowest, since + 1)
                    if since >= PATIENCE:
                        break
                best = max(best, most)
    return epochs, best


def stacked(train, validation, seeds, hidden):
    """Trains all rates and seeds with the same batch size together: they share the order of batches, and their products are batched.
    There is one parameter group per rate; networks that have stopped are trained on until all have stopped."""
    import torch
    from torch.nn.functional import cross_entropy

    x, y, vx, vy = map(torch.from_numpy, (*train, *validation))
    nets = seeds * len(RATES)
    torch.manual_seed(0)
    epochs, best = 0, 0.0
    for batch in BATCHES:
        layers = [torch.nn.Linear(x.shape[1], seeds * 2) for _ in RATES]
        adam = torch.optim.Adam([{"params": list(layer.parameters()), "lr": rate} for layer, rate in zip(layers, RATES)])
        of = lambda part: torch.nn.functional.linear(part, torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])).view(-1, 2)
        if hidden:
            layers = [torch.nn.Linear(x.shape[1], seeds * hidden) for _ in RATES]
            tops = [torch.nn.Parameter((torch.rand(seeds, hidden, 2) * 2 - 1) / hidden**0.5) for _ in RATES]
            ends = [torch.nn.Parameter(torch.zeros(seeds, 1, 2)) for _ in RATES]
            adam = torch.optim.Adam([{"params": [*layer.parameters(), top, end], "lr": rate} for layer, top, end, rate in zip(layers, tops, ends, RATES)])

            def of(part):
                first = torch.nn.functional.linear(part, torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])).relu()
                second = torch.baddbmm(torch.cat(ends), first.view(-1, nets, hidden).transpose(0, 1), torch.cat(tops))
                return second.transpose(0, 1).reshape(-1, 2)

        lowest, since, most = torch.full((nets,), float("inf")), torch.zeros(nets), torch.zeros(nets)
        for _ in range(EPOCHS):
            epochs += int((since < PATIENCE).sum())
            for rows in torch.randperm(len(x)).split(batch):
                adam.zero_grad()
                (cross_entropy(of(x[rows]), y[rows].repeat_interleave(nets), reduction="sum") / len(rows)).backward()
                adam.step()
            with torch.no_grad():
                logits = of(vx)
                loss = cross_entropy(logits, vy.repeat_interleave(nets), reduction="none").view(-1, nets).mean(0)
                right = (logits.argmax(1).view(-1, nets) == vy[:, None]).float().mean(0)
            most = torch.maximum(most, right)
            since = torch.where(loss < lowest, torch.zeros(nets), since + 1)
            lowest = torch.minimum(lowest, loss)
            if (since >= PATIENCE).all():
                break
        best = max(best, most.max().item())
    return epochs, best


def by_hand(train, validation, seeds, hidden):
    """Does the same with gradients and Adam written out in place, without PyTorch's autograd or optimisers. Linear classifiers only."""
    import torch
    from torch.nn.functional import cross_entropy

    x, y, vx, vy = map(torch.from_numpy, (*train, *validation))
    nets = seeds * len(RATES)
    rates = torch.tensor(RATES).repeat(seeds)
    torch.manual_seed(0)
    epochs, best = 0, 0.0
    for batch in BATCHES:
        w = (torch.rand(x.shape[1], nets, 2) * 2 - 1) / x.shape[1] ** 0.5
        b = (torch.rand(nets, 2) * 2 - 1) / x.shape[1] ** 0.5
        moments = [[torch.zeros_like(p), torch.zeros_like(p)] for p in (w, b)]
        lowest, since, most, step = torch.full((nets,), float("inf")), torch.zeros(nets), torch.zeros(nets), 0
        for _ in range(EPOCHS):
            epochs += int((since < PATIENCE).sum())
            running = rates * (since < PATIENCE)
            for rows in torch.randperm(len(x)).split(batch):
                step += 1
                xs, ys = x[rows], y[rows]
                slope = (torch.addmm(b.view(-1), xs, w.view(x.shape[1], -1))).view(-1, nets, 2).softmax(2)
                slope[torch.arange(len(rows)), :, ys] -= 1
                slope /= len(rows)
                size = running * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step)
                for p, (m, v), g in ((w, moments[0], (xs.T @ slope.view(len(rows), -1)).view_as(w)), (b, moments[1], slope.sum(0))):
                    m.lerp_(g, 0.1)
                    v.mul_(0.999).addcmul_(g, g, value=0.001)
                    p.sub_(size[:, None] * m / (v.sqrt().add_(1e-8)))
            logits = (torch.addmm(b.view(-1), vx, w.view(x.shape[1], -1))).view(-1, nets, 2)
            loss = torch.stack([cross_entropy(logits[:, k], vy) for k in range(nets)])
            most = torch.maximum(most, (logits.argmax(2) == vy[:, None]).float().mean(0))
            since = torch.where(loss < lowest, torch.zeros(nets), since + 1)
            lowest = torch.minimum(lowest, loss)
            if (since >= PATIENCE).all():
                break
        best = max(best, most.max().item())
    return epochs, best


def grid(file, rows, held, columns, seeds, hidden, *forms):
    all_numbers = np.fromfile(file, dtype="<f4").reshape(-1, columns + 1)
    x, y = np.ascontiguousarray(all_numbers[:, :-1]), all_numbers[:, -1].astype(np.int64)
    train, validation = (x[:rows], y[:rows]), (x[rows : rows + held], y[rows : rows + held])
    for name in forms:
        if hidden and name == "by_hand":
            continue
        begun = time.perf_counter()
        epochs, best = {"scikit": scikit, "single": single, "stacked": stacked, "by_hand": by_hand}[name](train, validation, seeds, hidden)
        seconds = time.perf_counter() - begun
        print(name, seconds, f"{epochs} epochs, best validation accuracy {best:.4f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "simulation":
        simulation(int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
    else:
        try:
            import torch

            torch.set_num_threads(1)
        except ImportError:
            pass
        grid(sys.argv[2], *map(int, sys.argv[3:8]), *sys.argv[8:])
