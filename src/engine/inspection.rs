//! Description of a loaded model, and comparison of its outputs with another implementation's.

use serde::{Deserialize, Serialize};

use super::message::ModelInfo;
use model::arch::{Activation, Head, Network, NormKind, Place, Positions, Scaling};
use model::check::{Row, Verdict};
use model::hook::HookPoint;
use model::{Arch, Model};

/// Sample text that shows how a tokenizer splits common words, a rare word, and digits.
const SAMPLE: &str = "The keys to the cabinet are unquestionably old, 1897";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    pub model: String,
    /// Family, for example `bert`.
    pub family: String,
    pub layers: usize,
    pub hidden: usize,
    pub parameters: u64,
    /// SHA-256 of weights, configuration and tokenizer.
    pub hash: String,
    pub device: String,
    /// Loading time in seconds; 0 if the model was already in memory.
    pub seconds: f64,
    /// Other facts about the model, as pairs of key and value.
    pub facts: Vec<(String, String)>,
    /// Tokens of [`SAMPLE`], as the vocabulary spells them; empty without a tokenizer.
    pub sample: Vec<String>,
}

/// One quantity of a model, compared with the value from another implementation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckRow {
    /// Name of the quantity, for example `logits`.
    pub quantity: String,
    /// Number of values compared.
    pub n: u64,
    /// Largest absolute deviation; `None` if there were no values to compare.
    pub deviation: Option<f64>,
    /// Largest deviation that counts as a pass.
    pub tolerance: Option<f64>,
    /// `pass`, `FAIL`, or the reason why it was not compared.
    pub verdict: String,
}

impl CheckRow {
    pub fn of(row: &Row) -> Self {
        let compared = row.verdict != Verdict::NotChecked;
        Self {
            quantity: row.quantity.clone(),
            n: row.values as u64,
            // If shapes or heads do not match, the deviation is NaN or infinite.
            deviation: Some(row.deviation).filter(|d| compared && d.is_finite()),
            tolerance: Some(row.tolerance).filter(|_| compared),
            verdict: match row.verdict {
                Verdict::Pass => "pass".into(),
                Verdict::Deviates => FAIL.into(),
                Verdict::NotChecked => row.note.clone(),
            },
        }
    }

    pub fn failed(&self) -> bool {
        self.verdict == FAIL
    }
}

/// Verdict if a deviation exceeds its tolerance.
pub const FAIL: &str = "FAIL";

impl Inspection {
    /// Describes a model that took `seconds` to load.
    pub fn of(asked: &str, model: &Model, seconds: f64) -> Self {
        let arch = model.arch();
        let sample = model.tokenizer().ok().and_then(|t| t.encode(SAMPLE).ok()).map(|e| e.tokens);
        Self {
            model: asked.to_owned(),
            family: arch.family.clone(),
            layers: model.depth(),
            hidden: model.embed_dim(),
            parameters: arch.parameter_count() as u64,
            hash: model.hash().to_owned(),
            device: model.device(),
            seconds,
            facts: facts(model),
            sample: sample.unwrap_or_default(),
        }
    }

    pub fn info(&self) -> ModelInfo {
        ModelInfo {
            name: self.model.clone(),
            family: self.family.clone(),
            layers: self.layers,
            hidden: self.hidden,
            parameters: self.parameters,
            serves: self.facts.iter().find(|(key, _)| key == "serves").map_or(String::new(), |f| f.1.clone()),
        }
    }

    /// The whole description as pairs of key and value.
    pub fn lines(&self) -> Vec<(String, String)> {
        let mut lines: Vec<(String, String)> = vec![
            ("name".into(), self.model.clone()),
            ("family".into(), self.family.clone()),
            ("layers".into(), self.layers.to_string()),
            ("width".into(), self.hidden.to_string()),
            ("parameters".into(), self.parameters.to_string()),
        ];
        lines.extend(self.facts.iter().cloned());
        lines.push(("device".into(), self.device.clone()));
        lines.push(("hash".into(), self.hash.clone()));
        if self.seconds > 0.0 {
            lines.push(("loaded in".into(), format!("{:.2} s", self.seconds)));
        }
        if !self.sample.is_empty() {
            lines.push(("tokens".into(), self.sample.join(" ")));
        }
        lines
    }
}

fn facts(model: &Model) -> Vec<(String, String)> {
    let arch = model.arch();
    let heads = match arch.kv_heads == arch.heads {
        true => format!("{} of width {}", arch.heads, arch.head_dim),
        false => format!("{} of width {}, {} for keys and values", arch.heads, arch.head_dim, arch.kv_heads),
    };
    let tokenizer = model.tokenizer().map_or("none: the model cannot tokenize text".to_owned(), |t| {
        let mask = t.mask_token().map_or("no mask token".to_owned(), |m| format!("mask token {m}"));
        format!("{} entries, {mask}", t.len())
    });
    let mut facts: Vec<(&str, String)> = vec![
        ("vocabulary", arch.vocab.to_string()),
        ("positions", format!("{} ({})", arch.max_positions, positions(arch))),
        ("heads", heads),
        ("feed-forward", feed_forward(arch)),
        ("norm", norm(arch)),
        ("language model head", head(arch)),
        ("tokenizer", tokenizer),
        ("weights in memory", format!("{:.1} MB as f32", arch.parameter_count() as f64 * 4.0 / 1e6)),
        ("hooks", hooks(arch)),
    ];
    if let Some(decoder) = arch.decoder {
        facts.push((
            "decoder",
            format!("layers {} to {}, {} heads, cross attention", arch.layers + 1, arch.depth(), decoder.heads),
        ));
    }
    if arch.network != Network::Transformer {
        let absent = ["positions", "heads", "feed-forward", "norm"];
        facts.retain(|(key, _)| !absent.contains(key));
        facts.insert(1, ("network", network(arch)));
    }
    let pooling = model.sentence_pooling().map_or_else(|e| format!("none by default; {e}"), |p| p.to_string());
    facts.push(("sentence vector", pooling));
    if model.pooler().is_some() {
        facts.push(("pooler", "tanh of a linear map of the first token".into()));
    }
    facts.push(("serves", arch.serves().into()));
    facts.extend(model.notices().into_iter().map(|n| ("notice", n.what)));
    facts.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

fn network(arch: &Arch) -> String {
    match arch.network {
        Network::Transformer => "transformer".into(),
        Network::Table => "word vectors: a table, no blocks".into(),
        Network::LogitsOnly(_) => format!("run by candle-transformers; {}", arch.serves()),
        Network::BiLstm => {
            format!("bidirectional LSTM, 2 x {} over words of {}", arch.hidden / 2, arch.embedding.width)
        }
    }
}

fn positions(arch: &Arch) -> String {
    match arch.positions {
        Positions::None => "none".into(),
        Positions::Learned { offset: 0, .. } => "learned".into(),
        Positions::Learned { offset, .. } => format!("learned, from row {offset}"),
        Positions::Rotary { theta, fraction, scaling } => {
            let share = if fraction == 1.0 { String::new() } else { format!(" over {fraction} of a head") };
            let scaling = match scaling {
                Scaling::None => String::new(),
                Scaling::Linear { factor } => format!(", linear scaling by {factor}"),
                Scaling::Llama3 { factor, .. } => format!(", Llama 3 scaling by {factor}"),
                Scaling::Yarn { factor, .. } => format!(", YaRN scaling by {factor}"),
            };
            format!("rotary{share}, base {theta}{scaling}")
        }
    }
}

fn feed_forward(arch: &Arch) -> String {
    let activation = match arch.mlp.activation {
        Activation::GeluErf => "gelu",
        Activation::GeluTanh => "gelu (tanh)",
        Activation::Relu => "relu",
        Activation::Silu => "silu",
    };
    format!("{}, {activation}{}", arch.intermediate, if arch.mlp.gated { ", gated" } else { "" })
}

fn norm(arch: &Arch) -> String {
    let kind = if arch.norm.kind == NormKind::Layer { "layer norm" } else { "RMS norm" };
    let place = match arch.place {
        Place::Post => "after each sublayer",
        Place::Pre => "before each sublayer",
        Place::Parallel => "before both sublayers, which run in parallel",
    };
    format!("{kind} {place}, epsilon {:e}", arch.norm.eps)
}

fn head(arch: &Arch) -> String {
    let tie = |tied| if tied { ", tied to the embeddings" } else { "" };
    match arch.head {
        Head::None => {
            format!("no {} head, which prompts need; probes of hidden states work without one", arch.head_kind())
        }
        Head::Masked { tied, .. } => format!("masked LM{}", tie(tied)),
        Head::Causal { tied, .. } if arch.decoder.is_some() => format!("decoder LM{}", tie(tied)),
        Head::Causal { tied, .. } => format!("causal LM{}", tie(tied)),
    }
}

/// Example hook points: in the first block, at the input, and at the output.
fn hooks(arch: &Arch) -> String {
    use HookPoint::*;
    let of_block = [ResidPre(0), Pattern(0), AttnOut(0), ResidMid(0), MlpOut(0), ResidPost(0)];
    let second = [DecoderPre(0), DecoderPattern(0), CrossPattern(0), DecoderPost(0)];
    let all = [Embed].into_iter().chain(of_block).chain(second).chain([FinalNorm]);
    let names = all.filter(|p| p.exists_in(arch)).map(|p| p.to_string().replacen(".0.", ".N.", 1));
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Device, ModelSource};

    #[test]
    fn built_in_model_is_fully_described() {
        let model = Model::load(&ModelSource::Builtin("bert-mini".into()), Device::Cpu).unwrap();
        let inspection = Inspection::of("bert-mini", &model, 0.0);
        let lines = inspection.lines();
        let line = |key: &str| lines.iter().find(|l| l.0 == key).map(|l| l.1.as_str()).unwrap();
        assert!(line("tokenizer").contains("[MASK]"), "{}", line("tokenizer"));
        assert!(line("hooks").contains("blocks.N.hook_resid_post"), "{}", line("hooks"));
        assert!(!line("hooks").contains("decoder"), "{}", line("hooks"));
        assert!(line("language model head").starts_with("masked LM"));
        assert!(inspection.sample.iter().any(|t| t == "keys" || t.starts_with("key")), "{:?}", inspection.sample);
        assert!(lines.iter().all(|l| l.0 != "loaded in"), "a loading time of 0 is not shown");
    }

    fn described(name: &str) -> Vec<(String, String)> {
        let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
        Inspection::of(name, &model, 0.5).lines()
    }

    fn line<'a>(lines: &'a [(String, String)], key: &str) -> Option<&'a str> {
        lines.iter().find(|l| l.0 == key).map(|l| l.1.as_str())
    }

    #[test]
    fn architectures_are_described_by_their_parts() {
        let gpt = described("gpt2-tiny");
        assert!(line(&gpt, "language model head").unwrap().starts_with("causal LM"));
        assert!(line(&gpt, "tokenizer").unwrap().contains("no mask token"));
        assert!(line(&gpt, "norm").unwrap().contains("before each sublayer"));
        assert_eq!(line(&gpt, "loaded in"), Some("0.50 s"));
        assert!(line(&gpt, "decoder").is_none());
        let bart = described("bart-tiny");
        assert!(line(&bart, "decoder").unwrap().contains("cross attention"));
        assert!(line(&bart, "language model head").unwrap().starts_with("decoder LM"));
        let folder = tempfile::tempdir().unwrap();
        let vectors = folder.path().join("vectors.txt");
        std::fs::write(&vectors, "the 0.1 0.2\nkeys 0.3 0.4\n").unwrap();
        let table = described(&format!("glove:{}", vectors.display()));
        assert!(line(&table, "network").unwrap().starts_with("word vectors"), "{table:?}");
        assert!(
            line(&table, "heads").is_none() && line(&table, "norm").is_none(),
            "word vectors have no heads or norms: {table:?}"
        );
    }

    #[test]
    fn list_line_matches_the_description() {
        let model = Model::load(&"bert-tiny".parse().unwrap(), Device::Cpu).unwrap();
        let inspection = Inspection::of("by another name", &model, 0.0);
        let info = inspection.info();
        assert_eq!((info.name.as_str(), info.family.as_str()), ("by another name", "bert"));
        assert_eq!((info.layers, info.hidden), (inspection.layers, inspection.hidden));
        assert_eq!(info.parameters, inspection.parameters);
        assert!(info.parameters > 0 && inspection.hash.len() == 64, "{}", inspection.hash);
    }

    #[test]
    fn only_a_deviation_fails_the_check() {
        let row = |verdict, deviation| Row {
            quantity: "logits".into(),
            values: 12,
            deviation,
            tolerance: 1e-4,
            verdict,
            note: "the folder has none".into(),
        };
        let pass = CheckRow::of(&row(Verdict::Pass, 1e-6));
        assert_eq!((pass.n, pass.deviation, pass.tolerance), (12, Some(1e-6), Some(1e-4)));
        assert!(pass.verdict == "pass" && !pass.failed());
        let off = CheckRow::of(&row(Verdict::Deviates, f64::INFINITY));
        assert_eq!(off.deviation, None, "there is no deviation if shapes differ");
        assert!(off.failed());
        let none = CheckRow::of(&row(Verdict::NotChecked, 0.0));
        assert_eq!((none.deviation, none.tolerance), (None, None));
        assert!(none.verdict == "the folder has none" && !none.failed());
    }
}
