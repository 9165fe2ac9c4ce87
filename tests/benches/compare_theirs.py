"""Computes every number of a folder comparison with SciPy and statsmodels: `python tests/benches/compare_theirs.py PROBITY [DIR]`.

Writes two folders with 13 small tasks (those of the test `every_number_of_two_folders_is_that_of_scipy`), runs
`PROBITY compare A B --json` on them, computes each number again, and prints the largest deviation for each.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import statsmodels.api as sm
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

TASKS, LEVEL, MARGIN = 13, 0.95, 0.02


def values(task):
    """Values of both sides on a task; the metric of the last task is between 0 and 1."""
    n = 30 + 7 * task
    if task == TASKS - 1:
        return [(i * 29 % 21) / 20 for i in range(n)], [(i * 17 % 21) / 20 for i in range(n)]
    a = [float((i * 37 + task * 11 + i * i * task) % 100 < 60 + task) for i in range(n)]
    b = [float((i * 53 + task * 7 + i * i * (task + 1)) % 100 < 55) for i in range(n)]
    return a, b


def write(root):
    for side, name in enumerate("ab"):
        (root / name).mkdir(exist_ok=True)
        for task in range(TASKS):
            rows = [
                {"doc_id": i, "doc_hash": f"{task}-{i}", "filter": "none", "metrics": ["acc"], "acc": v}
                for i, v in enumerate(values(task)[side])
            ]
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (root / name / f"samples_task{task:02}_2026-01-01T00-00-00.000001.jsonl").write_text(text)


def tango(b, c, n, gap):
    """Tango's score: (b - c - n gap) divided by its standard error at the maximum-likelihood probabilities under the gap."""
    def minus_log(q):
        p = q + gap
        rest = 1 - p - q
        if min(p, q, rest) < 0:
            return 1e18
        log = lambda count, share: 0 if count == 0 else count * np.log(max(share, 1e-300))
        return -(log(b, p) + log(c, q) + log(n - b - c, rest))

    low, high = max(0, -gap), (1 - gap) / 2
    q = optimize.minimize_scalar(minus_log, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
    return (b - c - n * gap) / np.sqrt(n * (2 * q + gap * (1 - gap)))


def by_table(a, b):
    a, b = np.array(a), np.array(b)
    n, first, second = len(a), int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum())
    both, neither = int(((a == 1) & (b == 1)).sum()), int(((a == 0) & (b == 0)).sum())
    table = [[both, first], [second, neither]]
    z = stats.norm.ppf(0.5 + LEVEL / 2)
    mean = (first - second) / n
    end = lambda sign, to: optimize.brentq(lambda gap: tango(first, second, n, gap) - sign * z, *sorted((mean, to)))
    exact = mcnemar(table, exact=True).pvalue
    corrected = max(0, abs(first - second) - 1) ** 2 / (first + second)
    half = stats.binom(first + second, 0.5)
    mid = 2 * half.cdf(min(first, second) - 1) + half.pmf(min(first, second))
    above, below = stats.norm.cdf(-tango(first, second, n, -MARGIN)), stats.norm.cdf(tango(first, second, n, MARGIN))
    return {
        "only_a": first, "only_b": second, "both": both, "neither": neither, "mean": mean,
        "lo": end(1, -0.999999), "hi": end(-1, 0.999999), "exact_p": exact, "mid_p": mid,
        "chi2_p": mcnemar(table, exact=False, correction=False).pvalue,
        "corrected_p": stats.chi2.sf(corrected, 1), "p": mid, "equivalence_p": max(above, below),
    }


def by_t(a, b):
    d = np.array(a) - np.array(b)
    test = stats.ttest_1samp(d, 0)
    ends = test.confidence_interval(LEVEL)
    one = lambda margin, side: stats.ttest_1samp(d, margin, alternative=side).pvalue
    return {
        "mean": d.mean(), "lo": ends.low, "hi": ends.high, "p": test.pvalue,
        "equivalence_p": max(one(-MARGIN, "greater"), one(MARGIN, "less")),
    }


def pooled(pairs):
    d = [np.array(a) - np.array(b) for a, b in pairs]
    means = stats.ttest_1samp([x.mean() for x in d], 0)
    ends = means.confidence_interval(LEVEL)
    groups = np.repeat(np.arange(len(d)), [len(x) for x in d])
    fit = sm.OLS(np.concatenate(d), np.ones(len(groups))).fit(
        cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    lo, hi = fit.conf_int(1 - LEVEL)[0]
    return {
        "macro": {"mean": np.mean([x.mean() for x in d]), "lo": ends.low, "hi": ends.high, "p": means.pvalue},
        "micro": {"mean": fit.params[0], "lo": lo, "hi": hi, "p": fit.pvalues[0]},
    }


def main():
    root = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    write(root)
    out = subprocess.run([sys.argv[1], "compare", root / "a", root / "b", "--json"], capture_output=True, text=True)
    lines = [json.loads(line) for line in out.stdout.splitlines()]
    pairs = [values(task) for task in range(TASKS)]
    theirs = [by_t(a, b) if k == TASKS - 1 else by_table(a, b) for k, (a, b) in enumerate(pairs)]
    for name, method in (("holm_p", "holm"), ("bh_q", "fdr_bh")):
        for one, p in zip(theirs, multipletests([one["p"] for one in theirs], method=method)[1]):
            one[name] = p
    for one, (a, b) in zip(theirs, pairs):
        one.update(n=len(a), mean_a=np.mean(a), mean_b=np.mean(b))
    off = {}
    whole = {"mean", "lo", "hi"}
    ours = [(line, theirs[k]) for k, line in enumerate(x for x in lines if "task" in x)]
    ours += [(line, pooled(pairs)[line["pooled"]]) for line in lines if "pooled" in line]
    assert len(ours) == TASKS + 2, out.stderr
    for line, want in ours:
        for key, value in want.items():
            got = line["difference"][key] if key in whole else line[key]
            kind = line.get("pooled", "task") + " " + key
            off[kind] = max(off.get(kind, 0), abs(got - value))
    for key, value in off.items():
        print(f"{key:24}{value:.1e}")
    print(json.dumps({"tasks": theirs, **pooled(pairs)}, default=float))
    sys.exit(int(max(off.values()) > 1e-6))


main()
