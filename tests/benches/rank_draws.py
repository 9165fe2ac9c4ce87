"""Makes the draws of tests/benches/prompts.rs in a plain Python loop, and prints the time taken in milliseconds."""

import json
import random
import sys
import time

DRAWS, SUBSET = 1000, 20

with open(sys.argv[1]) as file:
    relations = json.load(file)  # indexed by relation, model, prompt, instance and mention; 1 if correct
models = len(relations[0])

begun = time.perf_counter()
random.seed(0)


def mean(values):
    return sum(values) / len(values)


# What does not vary between draws is computed once, as in our own program.
original = [[mean([x[0] for x in of[0]]) for of in relation] for relation in relations]
adjusted = [[mean([mean([mean(x) for x in prompt]) for prompt in of]) for of in relation] for relation in relations]


def drawn(of):
    prompt = random.choice(of)
    return mean([random.choice(mentions) for mentions in prompt])


places = []
for _ in range(DRAWS):
    subset = random.sample(range(len(relations)), SUBSET)
    for score in (
        lambda r, m: original[r][m],
        lambda r, m: drawn(relations[r][m]),
        lambda r, m: adjusted[r][m],
    ):
        scores = [round(mean([score(r, m) for r in subset]), 9) for m in range(models)]
        places.append(sorted(range(models), key=scores.__getitem__))
print(1e3 * (time.perf_counter() - begun))
