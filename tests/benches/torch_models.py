"""The PyTorch and transformers side of `cargo bench --bench models`: reads one request per line on stdin and writes one answer on stdout.

Needs torch, transformers, safetensors and numpy. `models.rs` creates a virtual environment with them:

    python3 -m venv VENV && VENV/bin/pip install numpy torch transformers safetensors

On Linux this downloads about 3 GB: the torch on PyPI is the CUDA build, which cannot be imported without the CUDA libraries,
even without a GPU. They are not used here. To fetch the CPU build instead, point pip at its index for this
one command (`PIP_INDEX_URL=https://download.pytorch.org/whl/cpu PIP_EXTRA_INDEX_URL=https://pypi.org/simple`), or
name an interpreter that has the packages in `PROBITY_BENCH_PYTHON`.

Requests are JSON objects:

    {"op": "prepare", "job": NAME, "kind": KIND, ...}   loads the data of a job       -> {"ok": true}
    {"op": "run", "job": NAME, "out": PATH or null}      runs it once, timed           -> {"seconds": S}
    {"op": "drop", "job": NAME}                          frees it                      -> {"ok": true}

With `out`, the job's numbers are written to that file as raw little-endian f32, so that the other side can compare them.
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
    """Loads the model in a folder for inference, on the requested device and in the requested dtype."""
    dtype = getattr(torch, request.get("dtype", "float32"))
    return AutoModelForMaskedLM.from_pretrained(request["dir"], dtype=dtype).eval().to(request["device"])


def ids_of(request):
    return torch.tensor(request["ids"], dtype=torch.long, device=request["device"])


def forward(request):
    """Hidden states after the last block, at all positions."""
    model, ids = load(request).bert, ids_of(request)

    def run():
        with torch.inference_mode():
            return model(input_ids=ids).last_hidden_state

    return run


def integrated_gradients(request):
    """Gradients of one token's probability along the straight path from zero embeddings, using the trapezoid rule.

    The head runs only at the requested position, which is less work than `model(...).logits`.
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

    `tuned` applies known optimisations: logits at the masked positions only, and the fused optimiser. Without it, the
    step is as in the documentation of transformers.
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
    """Probabilities of a closed set of answers at the mask of every prompt, in batches padded to their longest prompt.

    `tuned` applies known optimisations: prompts of similar length share a batch, and the head runs only at the masks.
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
    """Answers requests until the input ends; `kinds` creates a job from a request."""
    # Output of libraries must not be mixed with the answers.
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
                # The numbers are copied to the host, which also waits for the device.
                result = job().float().cpu()
                seconds = time.perf_counter() - begun
                if request.get("out"):
                    result.numpy().astype("<f4").tofile(request["out"])
                answer({"seconds": seconds})
        except Exception as error:  # noqa: BLE001: the other side prints it and goes on
            answer({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    serve(KINDS)
