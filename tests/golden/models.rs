//! Tiny models of every family compared with Hugging Face transformers: `reference/models`.

mod edits;

use std::path::Path;

use probity::model::arch::Head;
use probity::model::tokenizer::{Extras, Tokenizer};
use probity::model::{
    Array, Batch, Edit, EditKind, HookPoint, Model, ModelError, ModelSource, Plan, Scalar, Sites, Target,
};
use serde_json::Value;

use super::common::{Golden, Report, Tensors, json, subfolders};
use super::harness::say;
use crate::harness::device;

crate::harness::tests! {
    Needs::Reference("models") => [
        the_programs_own_check_passes_on_every_reference_model,
        every_reference_model_is_reproduced,
        a_gradient_at_a_hidden_state_is_the_derivative_there,
    ];
}

/// Tolerances from the README of the reference.
const HIDDEN: f64 = 2e-5;
const LOGITS: f64 = 1e-4;
const PROBABILITY: f64 = 1e-5;
const GRADIENT: f64 = 1e-4;
const IG: f64 = 1e-3;

/// One reference model, loaded, with its expected values.
struct Case {
    model: Model,
    info: Value,
    want: Tensors,
    batch: Batch,
    positions: Vec<usize>,
}

fn open(dir: &Path) -> Result<Case, ModelError> {
    let model = Model::load(&ModelSource::Dir(dir.to_owned()), device())?;
    let info = json(&dir.join("expected.json"));
    let want = Tensors::load(&dir.join("expected.safetensors"));
    let ids = want.get("input_ids");
    let mask = want.get("attention_mask");
    let width = ids.shape[1];
    let rows = |t: &Golden| -> Vec<Vec<u32>> {
        t.data
            .chunks(width)
            .zip(mask.data.chunks(width))
            .map(|(row, mask)| row.iter().zip(mask).filter(|(_, m)| **m > 0.0).map(|(v, _)| *v as u32).collect())
            .collect()
    };
    let pad = info["pad_id"].as_u64().unwrap() as u32;
    let batch = match want.find("token_type_ids") {
        Some(types) => Batch::with_types(&rows(ids), &rows(types), pad)?,
        None => Batch::new(&rows(ids), pad)?,
    };
    let positions = want.get("position").indices();
    Ok(Case { model, info, want, batch, positions })
}

fn the_programs_own_check_passes_on_every_reference_model(root: &Path) {
    let folders = subfolders(root);
    assert!(!folders.is_empty());
    for dir in folders {
        super::common::check_passes(&dir);
    }
}

fn every_reference_model_is_reproduced(root: &Path) {
    let mut reports = Vec::new();
    for dir in subfolders(root) {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        match open(&dir) {
            Ok(case) => {
                let mut report = Report::new(&format!("models/{name}"));
                case.tokenizer(&mut report);
                case.old_tokenizer_files(&dir, &mut report);
                case.forward(&mut report);
                case.gradients(&mut report);
                case.integrated_gradients(&mut report);
                case.interventions(&mut report);
                case.resuming(&mut report);
                reports.push(report);
            }
            Err(ModelError::UnknownArchitecture { found, .. }) => {
                say!("not yet supported: {name} ({found})")
            }
            Err(e) => panic!("{name}: {e}"),
        }
    }
    assert!(!reports.is_empty(), "no reference model could be loaded");
    reports.into_iter().for_each(Report::finish);
}

impl Case {
    fn layers(&self) -> usize {
        self.model.layers()
    }

    /// The hook point that corresponds to Hugging Face's `hidden_states[l]`.
    fn hidden_point(&self, l: usize) -> HookPoint {
        match l {
            0 => HookPoint::ResidPre(0),
            l if l == self.layers() && self.model.arch().final_norm => HookPoint::FinalNorm,
            l => HookPoint::ResidPost(l - 1),
        }
    }

    fn tokenizer(&self, report: &mut Report) {
        let tokenizer = self.model.tokenizer().unwrap();
        let ids =
            |v: &Value| -> Vec<u32> { v.as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as u32).collect() };
        let strings = |v: &Value| -> Vec<String> {
            v.as_array().unwrap().iter().map(|s| s.as_str().unwrap().to_owned()).collect()
        };
        let offsets = |v: &Value| -> Vec<(usize, usize)> {
            let pair = |o: &Value| (o[0].as_u64().unwrap() as usize, o[1].as_u64().unwrap() as usize);
            v.as_array().unwrap().iter().map(pair).collect()
        };
        let mut wrong = Vec::new();
        let mut cases = 0;
        let texts = strings(&self.info["texts"]);
        for (i, text) in texts.iter().enumerate() {
            let e = tokenizer.encode(text).unwrap();
            let special: Vec<bool> = ids(&self.info["special_tokens_mask"][i]).iter().map(|&m| m == 1).collect();
            let same = e.ids == ids(&self.info["ids"][i])
                && e.tokens == strings(&self.info["tokens"][i])
                && e.offsets == offsets(&self.info["offsets"][i])
                && e.is_special == special;
            if !same {
                wrong.push(format!("{text:?} gave {e:?}"));
            }
            cases += 1;
        }
        for case in self.info["tokenizer_cases"].as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            let e = tokenizer.encode(text).unwrap();
            let decoded = tokenizer.decode(&e.ids, true).unwrap();
            let same = e.ids == ids(&case["ids"])
                && e.tokens == strings(&case["tokens"])
                && e.offsets == offsets(&case["offsets"])
                && decoded == case["decoded"].as_str().unwrap();
            if !same {
                wrong.push(format!("{text:?} gave {e:?}, {decoded:?}"));
            }
            cases += 1;
        }
        let pair = &self.info["tokenizer_pair"];
        let texts = strings(&pair["texts"]);
        let e = tokenizer.encode_pair(&texts[0], &texts[1]).unwrap();
        if e.ids != ids(&pair["ids"]) || e.types != ids(&pair["type_ids"]) || e.tokens != strings(&pair["tokens"]) {
            wrong.push(format!("pair gave {e:?}"));
        }
        report.holds(
            "tokens, ids, offsets, decoding",
            wrong.is_empty(),
            format!("{} cases, wrong: {wrong:?}", cases + 1),
        );
        if let Some(mask) = self.info["mask_id"].as_u64() {
            report.equal("mask id", &tokenizer.special().mask, &Some(mask as u32));
        }
        report.equal("pad id", &u64::from(tokenizer.pad_id()), &self.info["pad_id"].as_u64().unwrap());
    }

    /// Tokenizers built from `vocab.txt`, or from vocabulary and merges, must behave like `tokenizer.json`.
    fn old_tokenizer_files(&self, dir: &Path, report: &mut Report) {
        let [map, config] = ["special_tokens_map.json", "tokenizer_config.json"]
            .map(|name| std::fs::read_to_string(dir.join(name)).ok());
        let extras =
            Extras { special_tokens_map: map.as_deref(), tokenizer_config: config.as_deref(), ..Extras::default() };
        let file = json(&dir.join("tokenizer.json"));
        let family = self.model.arch().family.as_str();
        let rebuilt = if let Ok(vocab) = std::fs::read_to_string(dir.join("vocab.txt")) {
            Tokenizer::from_vocab_txt("vocab.txt", &vocab, extras).unwrap()
        } else if ["gpt2", "gpt_neox", "roberta"].contains(&family) {
            let mut vocab = file["model"]["vocab"].clone();
            for added in file["added_tokens"].as_array().unwrap() {
                vocab[added["content"].as_str().unwrap()] = added["id"].clone();
            }
            let pair = |m: &Value| match m.as_array() {
                Some(p) => format!("{} {}", p[0].as_str().unwrap(), p[1].as_str().unwrap()),
                None => m.as_str().unwrap().to_owned(),
            };
            let merges: Vec<String> = file["model"]["merges"].as_array().unwrap().iter().map(pair).collect();
            Tokenizer::from_bpe("vocab.json", &vocab.to_string(), &merges.join("\n"), extras).unwrap()
        } else {
            return;
        };
        let ours = self.model.tokenizer().unwrap();
        // Other sets may lack one or the other.
        let list = |key: &str| self.info[key].as_array().map_or(&[][..], Vec::as_slice);
        let texts = list("texts").iter().chain(list("tokenizer_cases").iter().map(|c| &c["text"]));
        let differ: Vec<&Value> = texts
            .filter(|t| rebuilt.encode(t.as_str().unwrap()).unwrap() != ours.encode(t.as_str().unwrap()).unwrap())
            .collect();
        report.holds("tokenizer rebuilt from the old files", differ.is_empty(), format!("differing: {differ:?}"));
        report.equal("special tokens of the old files", &rebuilt.special().mask, &ours.special().mask);
    }

    fn forward(&self, report: &mut Report) {
        let mut plan = Plan::default();
        for l in 0..=self.layers() {
            plan = plan.capture(self.hidden_point(l));
        }
        for l in 0..self.layers() {
            plan = plan.capture(HookPoint::Pattern(l));
        }
        if self.model.has_head() {
            plan = plan.logits_at(Sites::All);
        }
        let trace = self.model.forward(&self.batch, &plan).unwrap();
        let hidden = self.want.series("hidden_states.");
        assert_eq!(hidden.len(), self.layers() + 1);
        for (l, want) in hidden.iter().enumerate() {
            let got = trace.get(self.hidden_point(l)).unwrap();
            report.equal(&format!("shape of hidden state {l}"), &got.shape, &want.shape);
            report.close(&format!("hidden state {l}"), &got.data, &want.data, HIDDEN);
        }
        for (l, want) in self.want.series("attentions.").iter().enumerate() {
            let got = trace.get(HookPoint::Pattern(l)).unwrap();
            report.equal(&format!("shape of attention {l}"), &got.shape, &want.shape);
            report.close(&format!("attention {l}"), &got.data, &want.data, HIDDEN);
        }
        self.decoder(report);
        if self.model.has_head() {
            report.close("logits", &trace.logits().unwrap().data, &self.want.get("logits").data, LOGITS);
            self.top5(report);
        } else {
            let refused = self.model.forward(&self.batch, &Plan::default().logits_at(Sites::All));
            report.holds(
                "a missing head is reported",
                matches!(refused, Err(ModelError::NoHead { .. })),
                String::new(),
            );
        }
        if let Some(want) = self.want.find("mean_pooled") {
            let pooled = self.mean_pooled(trace.get(self.hidden_point(self.layers())).unwrap());
            report.close("mean-pooled vectors", &pooled.data, &want.data, HIDDEN);
        }
    }

    /// Compares the second stack of an encoder-decoder.
    fn decoder(&self, report: &mut Report) {
        let Some(second) = self.model.arch().decoder else { return };
        let input = self.batch.decoder_input(second.start_token);
        let ids: Vec<usize> = input.ids().iter().map(|&i| i as usize).collect();
        report.equal("decoder input", &ids, &self.want.get("decoder_input_ids").indices());
        let mut points = vec![(HookPoint::DecoderPre(0), "decoder_hidden_states.0".to_owned())];
        for l in 0..second.layers {
            points.push((HookPoint::DecoderPost(l), format!("decoder_hidden_states.{}", l + 1)));
            points.push((HookPoint::DecoderPattern(l), format!("decoder_attentions.{l}")));
            points.push((HookPoint::CrossPattern(l), format!("cross_attentions.{l}")));
        }
        let plan = points.iter().fold(Plan::default(), |plan, (p, _)| plan.capture(*p));
        let trace = self.model.forward(&self.batch, &plan).unwrap();
        for (p, name) in points {
            let (got, want) = (trace.get(p).unwrap(), self.want.get(&name));
            report.equal(&format!("shape of {name}"), &got.shape, &want.shape);
            report.close(&name, &got.data, &want.data, HIDDEN);
        }
    }

    fn top5(&self, report: &mut Report) {
        let sites = Sites::per_row(&self.positions);
        let logits =
            self.model.forward(&self.batch, &Plan::default().logits_at(sites.clone())).unwrap().logits.unwrap();
        report.close("logits at position", &logits.data, &self.want.get("logits_at_position").data, LOGITS);
        let (ids, probabilities) = (self.want.get("top5_ids"), self.want.get("top5_probabilities"));
        let (mut got_ids, mut got_p) = (Vec::new(), Vec::new());
        for b in 0..self.batch.rows() {
            let row = logits.row(b);
            let mut order: Vec<usize> = (0..row.len()).collect();
            order.sort_by(|&i, &j| row[j].total_cmp(&row[i]));
            let top = f64::from(row[order[0]]);
            let z: f64 = row.iter().map(|&v| (f64::from(v) - top).exp()).sum();
            for &i in &order[..ids.shape[1]] {
                got_ids.push(i);
                got_p.push((f64::from(row[i]) - top).exp() / z);
            }
        }
        report.equal("top-5 tokens", &got_ids, &ids.indices());
        report.close64("top-5 probabilities", &got_p, &probabilities.data, PROBABILITY);
        // Requesting only a few rows of the vocabulary must give the same numbers.
        let few: Vec<u32> = ids.indices().iter().map(|&i| i as u32).collect();
        let some = self.model.forward(&self.batch, &Plan::default().logits_of(sites, few.clone())).unwrap();
        let some = some.logits.unwrap();
        let want: Vec<f64> = (0..self.batch.rows())
            .flat_map(|b| few.iter().map(|&i| f64::from(logits.row(b)[i as usize])).collect::<Vec<_>>())
            .collect();
        report.close("logits of chosen rows", &some.data, &want, 1e-5);
    }

    /// Mean over each sentence's tokens.
    fn mean_pooled(&self, hidden: &Array) -> Array {
        let (b, d) = (self.batch.rows(), hidden.shape[2]);
        let mut out = Array::zeros([b, d]);
        for row in 0..b {
            let n = self.batch.lengths()[row];
            for t in 0..n {
                let h = hidden.at(row, t).to_vec();
                out.row_mut(row).iter_mut().zip(h).for_each(|(o, v)| *o += v / n as f32);
            }
        }
        out
    }

    /// The scalar to explain in each sentence: the target's logit, or component 0 of the pooled vector.
    fn scalar(&self) -> Scalar {
        self.scalar_over(1)
    }

    /// [`Self::scalar`] for `n` stacked copies of the batch.
    fn scalar_over(&self, n: usize) -> Scalar {
        let rows = self.batch.rows();
        if self.model.has_head() {
            let tokens = self.want.get("target").indices();
            let target =
                |r: usize| Target { row: r, position: self.positions[r % rows], token: tokens[r % rows] as u32 };
            return Scalar::Logit((0..rows * n).map(target).collect());
        }
        let (t, d) = (self.batch.len(), self.model.embed_dim());
        let mut value = Array::zeros([rows * n, t, d]);
        for r in 0..rows * n {
            let len = self.batch.lengths()[r % rows];
            (0..len).for_each(|p| value.row_mut(r * t + p)[0] = 1.0 / len as f32);
        }
        Scalar::Cotangent { at: self.hidden_point(self.layers()), sites: Sites::All, value }
    }

    fn gradients(&self, report: &mut Report) {
        let plan = Plan::default().capture(HookPoint::Embed).gradient(self.scalar(), &[HookPoint::Embed]);
        let trace = self.model.forward(&self.batch, &plan).unwrap();
        let scale = self.info["float32_noise_max_abs"]["grad_scale"].as_f64().unwrap();
        let want = self.want.get("scalar");
        if self.model.has_head() {
            report.close("explained scalar", &trace.scalars, &want.data, LOGITS);
        } else {
            report.close("explained scalar", &trace.scalars, &[want.data.iter().sum()], LOGITS);
        }
        let words = trace.get(HookPoint::Embed).unwrap();
        report.close("word embeddings", &words.data, &self.want.get("input_embeddings").data, 1e-7);
        let got = trace.gradient(HookPoint::Embed).unwrap();
        report.close("gradient", &got.data, &self.want.get("grad_embeddings").data, GRADIENT * scale);
        let norms: Vec<f32> = (0..got.rows()).map(|i| got.row(i).iter().map(|v| v * v).sum::<f32>().sqrt()).collect();
        report.close("gradient norms", &norms, &self.want.get("grad_l2").data, GRADIENT * scale);
        // The same values must result when the pass starts from the embeddings instead of the ids.
        let again = Plan::default().from_embeddings(words.clone()).gradient(self.scalar(), &[HookPoint::Embed]);
        let again = self.model.forward(&self.batch, &again).unwrap();
        let want: Vec<f64> = got.data.iter().map(|&v| f64::from(v)).collect();
        report.close("gradient from embeddings", &again.gradient(HookPoint::Embed).unwrap().data, &want, 1e-6 * scale);
    }

    fn integrated_gradients(&self, report: &mut Report) {
        let steps = self.info["ig"]["steps"].as_u64().unwrap() as usize;
        let full = self.path_gradient(steps, |n| self.scalar_over(n));
        let want = self.want.get("ig.trapezoid.sum");
        let scale = want.data.iter().fold(0f64, |m, v| m.max(v.abs()));
        let sum: Vec<f64> = full.0.chunks(full.1).map(|r| r.iter().sum()).collect();
        let l2: Vec<f64> = full.0.chunks(full.1).map(|r| r.iter().map(|v| v * v).sum::<f64>().sqrt()).collect();
        report.close64("integrated gradients, sums", &sum, &want.data, IG * scale);
        report.close64("integrated gradients, norms", &l2, &self.want.get("ig.trapezoid.l2").data, IG * scale);
        report.close64("integrated gradients, full", &full.0, &self.want.get("ig.trapezoid.full").data, IG * scale);
        let t = self.batch.len();
        let mut swapped = 0;
        for b in 0..self.batch.rows() {
            let n = self.batch.lengths()[b];
            let (got, want) = (&sum[b * t..b * t + n], &want.data[b * t..b * t + n]);
            for i in 0..n {
                for j in 0..n {
                    swapped += usize::from(want[i] - want[j] > IG * scale && got[i] <= got[j]);
                }
            }
        }
        report.equal("tokens ranked differently by integrated gradients", &swapped, &0);
        if let Some(want) = self.want.find("ig_probability.trapezoid.sum") {
            let full = self.path_gradient(steps, |n| match self.scalar_over(n) {
                Scalar::Logit(t) => Scalar::Probability(t),
                other => other,
            });
            let sum: Vec<f64> = full.0.chunks(full.1).map(|r| r.iter().sum()).collect();
            let scale = want.data.iter().fold(0f64, |m, v| m.max(v.abs()));
            report.close64("integrated gradients of the probability", &sum, &want.data, IG * scale);
        }
    }

    /// Integrates by the trapezoid rule from the baseline's embeddings to the input's; returns attributions `[B T, E]` and E.
    fn path_gradient(&self, steps: usize, scalar: impl Fn(usize) -> Scalar) -> (Vec<f64>, usize) {
        let rows = self.batch.rows();
        let words = |batch: &Batch| {
            let mut trace = self.model.forward(batch, &Plan::default().capture(HookPoint::Embed)).unwrap();
            trace.take(HookPoint::Embed).unwrap()
        };
        let input = words(&self.batch);
        let t = self.batch.len();
        let ids = self.want.get("baseline_ids");
        let lists: Vec<Vec<u32>> =
            (0..rows).map(|b| (0..self.batch.lengths()[b]).map(|p| ids.data[b * t + p] as u32).collect()).collect();
        let base = words(&Batch::new(&lists, ids.data[0] as u32).unwrap());
        let mut total = vec![0f64; input.data.len()];
        let own: Vec<Vec<u32>> =
            (0..rows).map(|b| self.batch.ids()[b * t..b * t + self.batch.lengths()[b]].to_vec()).collect();
        let types: Vec<Vec<u32>> =
            (0..rows).map(|b| self.batch.types()[b * t..b * t + self.batch.lengths()[b]].to_vec()).collect();
        for chunk in (0..=steps).collect::<Vec<_>>().chunks(26) {
            let n = chunk.len();
            let mut x = Array::zeros([rows * n, t, input.width()]);
            for (i, &s) in chunk.iter().enumerate() {
                let a = s as f32 / steps as f32;
                let part = &mut x.data[i * input.data.len()..(i + 1) * input.data.len()];
                for (j, v) in part.iter_mut().enumerate() {
                    // Padding has no baseline, and no token attends to it.
                    *v = base.data[j] + a * (input.data[j] - base.data[j]);
                }
            }
            let repeat = |lists: &[Vec<u32>]| -> Vec<Vec<u32>> { (0..n).flat_map(|_| lists.to_vec()).collect() };
            let batch = Batch::with_types(&repeat(&own), &repeat(&types), 0).unwrap();
            let plan = Plan::default().from_embeddings(x).gradient(scalar(n), &[HookPoint::Embed]);
            let trace = self.model.forward(&batch, &plan).unwrap();
            let gradient = trace.gradient(HookPoint::Embed).unwrap();
            for (i, &s) in chunk.iter().enumerate() {
                let weight = if s == 0 || s == steps { 0.5 } else { 1.0 } / steps as f64;
                let part = &gradient.data[i * total.len()..(i + 1) * total.len()];
                total.iter_mut().zip(part).for_each(|(t, &g)| *t += weight * f64::from(g));
            }
        }
        for (v, (x, b)) in total.iter_mut().zip(input.data.iter().zip(&base.data)) {
            *v *= f64::from(x - b);
        }
        (total, input.width())
    }
}

fn a_gradient_at_a_hidden_state_is_the_derivative_there(root: &Path) {
    for dir in subfolders(root) {
        let Ok(case) = open(&dir) else { continue };
        if case.model.arch().head == Head::None {
            continue;
        }
        // If there is no operation between the embeddings and the input of block 0, the gradients at both are equal.
        let points = [HookPoint::ResidPre(0), HookPoint::ResidPost(0)];
        let trace = case.model.forward(&case.batch, &Plan::default().gradient(case.scalar(), &points)).unwrap();
        let mut report = Report::new(&format!("models/{}", dir.file_name().unwrap().to_string_lossy()));
        let state = case.model.forward(&case.batch, &Plan::default().capture(points[1])).unwrap();
        let resumed =
            Plan::default().resume(1, state.captures[0].1.clone()).gradient(case.scalar(), &[HookPoint::ResidPre(1)]);
        let resumed = case.model.forward(&case.batch, &resumed).unwrap();
        let want: Vec<f64> = trace.gradient(points[1]).unwrap().data.iter().map(|&v| f64::from(v)).collect();
        let scale = want.iter().fold(0f64, |m, v| m.max(v.abs()));
        let got = &resumed.gradient(HookPoint::ResidPre(1)).unwrap().data;
        report.close("gradient at block 1, resumed against full", got, &want, 1e-5 * scale);
        report.finish();
    }
}
