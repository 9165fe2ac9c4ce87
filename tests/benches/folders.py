"""Checks that transformers loads the gallery's folders without a warning and computes the same numbers as Probity.

    VENV/bin/python tests/benches/folders.py [--probity PROBITY] [--trained] [FOLDER ...]

Needs torch, transformers and safetensors (`torch_models.py` describes how to install them). The default folders are those in
`assets/models`; `--trained` adds the folders that `probity gallery train NAME --steps 1` writes. Every folder is loaded by the class
named in its `config.json` and by AutoTokenizer, while warnings and log messages of transformers are collected. Its tokens, hidden
states and logits for three sentences are written next to a copy of it, and `probity models check` compares them with its own.
The exit code is 1 if a folder is refused, causes a warning, or deviates.
"""

import argparse
import json
import logging
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXTS = ["The keys to the cabinet are old.", "Paris is the capital of France.", "Two and three is five."]


class Collected(logging.Handler):
    """Collects warnings and errors that transformers logs."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage().splitlines()[0])


def load(folder):
    """Returns the model in float32, its tokenizer, and all warnings and messages."""
    log = Collected()
    logger = logging.getLogger("transformers")
    logger.addHandler(log)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        config = transformers.AutoConfig.from_pretrained(folder)
        kind = getattr(transformers, config.architectures[0])
        model, info = kind.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    logger.removeHandler(log)
    keys = [f"{name}: {sorted(map(str, keys))}" for name, keys in info.items() if keys]
    said = log.said + [str(w.message).splitlines()[0] for w in caught] + keys
    return model.eval(), tokenizer, said


def reference(model, tokenizer):
    """Returns tokens, states and logits in the form that `probity models check` reads."""
    rows = [tokenizer(text)["input_ids"] for text in TEXTS]
    pad = tokenizer.pad_token_id or 0
    longest = max(map(len, rows))
    ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    with torch.inference_mode():
        if model.config.is_encoder_decoder:
            # The decoder reads the start token and then the encoder's own tokens, shifted by one.
            start = torch.full((len(rows), 1), model.config.decoder_start_token_id)
            shifted = torch.cat([start, ids[:, :-1]], 1)
            out = model(ids, attention_mask=mask, decoder_input_ids=shifted, output_hidden_states=True)
            states = out.encoder_hidden_states
        else:
            out = model(ids, attention_mask=mask, output_hidden_states=True)
            states = out.hidden_states
    tensors = {"input_ids": ids.int(), "attention_mask": mask.int(), "logits": out.logits}
    tensors |= {f"hidden_states.{layer}": state for layer, state in enumerate(states)}
    return {name: t.contiguous() for name, t in tensors.items()}, {"pad_id": pad}


def compare(folder, probity):
    """Returns the faults of a folder, and the largest deviation of its logits."""
    try:
        model, tokenizer, said = load(folder)
    except Exception as error:  # reports any exception that users of transformers would see
        return [f"refused: {str(error).splitlines()[0]}"], None
    with tempfile.TemporaryDirectory() as beside:
        copy = pathlib.Path(beside) / folder.name
        shutil.copytree(folder, copy)
        tensors, about = reference(model, tokenizer)
        save_file(tensors, copy / "expected.safetensors")
        (copy / "expected.json").write_text(json.dumps(about))
        done = subprocess.run([probity, "models", "check", copy, "--json"], capture_output=True, text=True)
    if done.returncode == 2:
        return said + [done.stderr.strip()], None
    rows = json.loads(done.stdout)["rows"]
    # The tolerance suits numbers of about one. In single precision, a state of 60 has an error of about 4e-6, and after two blocks PyTorch
    # deviates by 1.4e-5 from its own result in double precision.
    largest = max(float(t.abs().max()) for name, t in tensors.items() if name.startswith("hidden_states"))
    fits = lambda r: r["verdict"] in ("pass", "not-checked") or r["quantity"] == "hidden states" and r["deviation"] <= 1e-6 * largest
    bad = [f"{r['quantity']} deviate by {r['deviation']:.1e} (the largest state is {largest:.0f})" for r in rows if not fits(r)]
    logits = [r for r in rows if r["quantity"] == "logits"]
    return said + bad, logits[0] if logits else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--probity", default=ROOT / "target/release/probity")
    parser.add_argument("--trained", action="store_true")
    args = parser.parse_args()
    shipped = sorted(p for p in (ROOT / "assets/models").iterdir() if p.is_dir())
    folders = args.folders or list(shipped)
    failed = False
    transformers.logging.disable_progress_bar()
    transformers.logging.disable_default_handler()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as made:
        if args.trained:
            for model in shipped:
                out = pathlib.Path(made) / f"{model.name}-trained"
                train = [args.probity, "gallery", "train", model.name, "--steps", "1", "--seed", "9", "--quiet"]
                subprocess.run([*train, "--out", out], check=True, stdout=subprocess.DEVNULL)
                folders.append(out)
        for folder in folders:
            wrong, logits = compare(folder.resolve(), args.probity)
            failed |= bool(wrong)
            told = f"{logits['values']} logits, largest deviation {logits['deviation']:.1e}" if logits else "no logits compared"
            print(f"{folder.name:<22} {'; '.join(wrong) or 'no warning'}; {told}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
