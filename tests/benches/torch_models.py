"""PyTorch and transformers, asked by `cargo bench --bench models`: one request per line on stdin, one answer on stdout.

Needs torch, transformers, safetensors and numpy. `models.rs` makes a virtual environment with them:

    python3 -m venv VENV && VENV/bin/pip install numpy torch transformers safetensors

On Linux that is about 3 GB to fetch: PyPI's torch is the CUDA build, and it does not import without the CUDA libraries
beside it, even where no GPU is. Nothing here uses them. To fetch the CPU build instead, point pip at its index for this
one command (`PIP_INDEX_URL=https://download.pytorch.org/whl/cpu PIP_EXTRA_INDEX_URL=https://pypi.org/simple`), or
name an interpreter that has the packages in `PROBITY_BENCH_PYTHON`.

Requests are JSON objects:

    {"op": "prepare", "job": NAME, "kind": KIND, ...}   loads what a job needs        -> {"ok": true}
    {"op": "run", "job": NAME, "out": PATH or null}      runs it once, timed           -> {"seconds": S}
    {"op": "drop", "job": NAME}                          frees it                      -> {"ok": true}

With `out`, the job's numbers go there as raw little-endian f32, so that the other side can compare them with its own.
"""

import json
import os
import sys
import time

import numpy as np
import torch
import transformers
from transformers import AutoModelForMaskedLM, AutoTokenizer

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


def load(request):
    """The model of a folder, for inference, on the device and in the dtype asked for."""
    dtype = getattr(torch, request.get("dtype", "float32"))
    return AutoModelForMaskedLM.from_pretrained(request["dir"], dtype=dtype).eval().to(request["device"])


def ids_of(request):
    return torch.tensor(request["ids"], dtype=torch.long, device=request["device"])


def forward(request):
    """Hidden states after the last block, all positions."""
    model, ids = load(request).bert, ids_of(request)

    def run():
        with torch.inference_mode():
            return model(input_ids=ids).last_hidden_state

    return run


def integrated_gradients(request):
    """Gradients of one token's probability along the straight path from zero embeddings, by the trapezoid rule.

    The head runs at the one position that is asked for, which is less than `model(...).logits` would do.
    """
    model, ids = load(request), ids_of(request)
    steps, position, token = request["steps"], request["position"], request["token"]
    with torch.no_grad():
        embeddings = model.bert.embeddings.word_embeddings(ids)
    along = torch.linspace(0, 1, steps, device=ids.device)[:, None, None]
    weights = torch.full((steps, 1, 1), 1 / (steps - 1), device=ids.device)
    weights[0] = weights[-1] = 0.5 / (steps - 1)

    def run():
        inputs = (along * embeddings).requires_grad_()
        hidden = model.bert(inputs_embeds=inputs).last_hidden_state[:, position]
        probability = model.cls(hidden[:, None])[:, 0].softmax(-1)[:, token]
        (gradient,) = torch.autograd.grad(probability.sum(), inputs)
        return (weights * gradient).sum(0) * embeddings[0]

    return run


def train(request):
    """One step of masked-language training: forward, backward, clipping, AdamW. Returns the loss.

    `tuned` does what is known to help: logits at the masked positions only, and the fused optimiser. Without it, the
    step is that of the transformers documentation.
    """
    model, ids = load(request).train(), ids_of(request)
    labels, tuned = torch.tensor(request["labels"], device=ids.device), request["tuned"]
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=request["rate"], betas=(0.9, 0.98), eps=1e-8, fused=tuned or None)
    rows, columns = torch.nonzero(labels >= 0, as_tuple=True)
    targets = labels[rows, columns]

    def run():
        optimiser.zero_grad()
        if tuned:
            hidden = model.bert(input_ids=ids).last_hidden_state[rows, columns]
            loss = torch.nn.functional.cross_entropy(model.cls(hidden), targets)
        else:
            loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        return loss.detach().reshape(1)

    return run


def prompts(request):
    """Probabilities of a closed set of answers at the mask of every prompt, in batches padded to their longest.

    `tuned` does what is known to help: prompts of about the same length share a batch, and the head runs at the masks.
    """
    model, tokenizer = load(request), AutoTokenizer.from_pretrained(request["dir"])
    answers = torch.tensor(request["answers"], device=request["device"])
    texts, size, tuned = request["prompts"], request["batch"], request["tuned"]

    def run():
        order = sorted(range(len(texts)), key=lambda i: len(texts[i])) if tuned else range(len(texts))
        found = []
        with torch.inference_mode():
            for i in range(0, len(texts), size):
                some = [texts[j] for j in order[i : i + size]]
                batch = tokenizer(some, padding=True, return_tensors="pt").to(request["device"])
                rows, columns = torch.nonzero(batch["input_ids"] == tokenizer.mask_token_id, as_tuple=True)
                if tuned:
                    logits = model.cls(model.bert(**batch).last_hidden_state[rows, columns])
                else:
                    logits = model(**batch).logits[rows, columns]
                found.append(logits[:, answers].softmax(-1))
        found = torch.cat(found)
        return found[torch.tensor(order, device=found.device).argsort()] if tuned else found

    return run


KINDS = {
    "forward": forward,
    "integrated_gradients": integrated_gradients,
    "train": train,
    "prompts": prompts,
}


def serve(kinds):
    """Answers requests until there are no more; `kinds` makes a job from a request."""
    # Whatever a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    threads = int(sys.argv[1])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    jobs = {}

    def answer(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    answer({"torch": torch.__version__, "transformers": transformers.__version__, "threads": torch.get_num_threads()})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] == "prepare":
                jobs[request["job"]] = kinds[request["kind"]](request)
                answer({"ok": True})
            elif request["op"] == "drop":
                jobs.pop(request["job"], None)
                answer({"ok": True})
            else:
                job = jobs[request["job"]]
                begun = time.perf_counter()
                # The numbers arrive on the host, which also waits for the device.
                result = job().float().cpu()
                seconds = time.perf_counter() - begun
                if request.get("out"):
                    result.numpy().astype("<f4").tofile(request["out"])
                answer({"seconds": seconds})
        except Exception as error:  # noqa: BLE001: the other side prints it and goes on
            answer({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    serve(KINDS)
