"""The captum and transformers side of `cargo bench --bench saliency`; requests and answers are as in `torch_models.py`.

Needs captum in addition to the packages listed there; `PROBITY_BENCH_PYTHON` names an interpreter that has them.
"""

import torch
from captum.attr import LayerIntegratedGradients
from torch_models import load, serve
from transformers import AutoModel, AutoTokenizer


def batches(lengths, size, tuned):
    """Indices of the sentences in each batch; `tuned` groups sentences of similar length."""
    order = sorted(range(len(lengths)), key=lambda i: lengths[i]) if tuned else list(range(len(lengths)))
    return [order[i : i + size] for i in range(0, len(order), size)]


def integrated_gradients(request):
    """Token scores of each sentence from captum's layer integrated gradients over the word embeddings.

    Uses the trapezoid rule at `steps` + 1 points, whose sum captum divides by the number of points, not of steps. `tuned` applies
    known optimisations: sentences of the same length share a batch, and the head runs only at the masks.
    """
    model, pad, tuned = load(request), request["pad"], request["tuned"]
    points = request["steps"] + 1
    lengths = [len(ids) for ids in request["ids"]]

    def probability(ids, mask, positions, targets):
        rows = torch.arange(len(ids))
        if tuned:
            hidden = model.bert(ids, attention_mask=mask).last_hidden_state[rows, positions]
            logits = model.cls(hidden[:, None])[:, 0]
        else:
            logits = model(ids, attention_mask=mask).logits[rows, positions]
        return logits.softmax(-1)[rows, targets]

    method = LayerIntegratedGradients(probability, model.bert.embeddings.word_embeddings)

    def padded(rows, value):
        longest = max(map(len, rows))
        return torch.tensor([row + [value] * (longest - len(row)) for row in rows])

    def run():
        found = [None] * len(lengths)
        for batch in batches(lengths, 16, tuned):
            ids = padded([request["ids"][i] for i in batch], pad)
            frame = padded([request["frame"][i] for i in batch], True)
            mask = padded([[1] * lengths[i] for i in batch], 0)
            scores = method.attribute(
                inputs=ids,
                baselines=torch.where(frame, ids, pad),
                additional_forward_args=(
                    mask,
                    torch.tensor([request["positions"][i] for i in batch]),
                    torch.tensor([request["targets"][i] for i in batch]),
                ),
                n_steps=points,
                method="riemann_trapezoid",
                internal_batch_size=max(len(batch), request["tokens"] // ids.shape[1]),
            )
            scores = scores.sum(-1).detach() * points / request["steps"]
            for i, row in zip(batch, scores):
                found[i] = row[: lengths[i]]
        return torch.cat(found)

    return run


def attention(request):
    """Word scores of each sentence: the mask's attention in the last layer, averaged over heads."""
    model = AutoModel.from_pretrained(request["dir"], dtype=torch.float32, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(request["dir"])
    sentences, tuned = request["words"], request["tuned"]

    def run():
        found = [None] * len(sentences)
        with torch.inference_mode():
            for batch in batches([len(s) for s in sentences], request["batch"], tuned):
                some = tokenizer(
                    [sentences[i] for i in batch], is_split_into_words=True, padding=True, return_tensors="pt"
                )
                attentions = model(**some, output_attentions=True).attentions[-1].mean(1)
                rows, columns = torch.nonzero(some["input_ids"] == tokenizer.mask_token_id, as_tuple=True)
                weights = attentions[rows, columns].tolist()
                for k, i in enumerate(batch):
                    scores = [0.0] * len(sentences[i])
                    for word, weight in zip(some.word_ids(k), weights[k]):
                        if word is not None:
                            scores[word] += weight
                    found[i] = torch.tensor(scores)
        return torch.cat(found)

    return run


if __name__ == "__main__":
    serve({"integrated_gradients": integrated_gradients, "attention": attention})
