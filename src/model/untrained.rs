//! Untrained twins: models with the architecture and tokenizer of a trained model, but with random parameters. A property that a probe
//! finds in a twin does not come from training.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal, Uniform};
use serde_json::Value;

use super::arch::{Arch, Network, Role};
use super::array::Array;
use super::device::Device;
use super::dtype::Dtype;
use super::error::{ModelError, Result};
use super::families::python_json;
use super::hub::OnTransfer;
use super::sentence::Pooler;
use super::source::{Files, ModelSource};
use super::{Model, Params};
use stats::rng::stream;

/// Standard deviation of initial weights if the configuration has no `initializer_range`, as in BERT and GPT-2.
const INITIAL_SD: f32 = 0.02;
/// Separator between a model and the seed of its twin.
const MARK: &str = "#untrained-";

/// Parses `untrained:MODEL`, `untrained:MODEL#SEED` and `MODEL#untrained-SEED` into the model's address and the seed.
pub(super) fn parse(text: &str) -> Result<Option<(&str, u64)>> {
    let (of, seed) = match (text.strip_prefix("untrained:"), text.rsplit_once(MARK)) {
        (Some(rest), _) => rest.rsplit_once('#').unwrap_or((rest, "0")),
        (None, Some(parts)) => parts,
        (None, None) => return Ok(None),
    };
    let seed = seed.parse().map_err(|_| ModelError::Config {
        file: of.chars().take(200).collect::<String>().escape_debug().to_string(),
        what: format!(
            "the seed of an untrained twin is a whole number, not '{}'",
            seed.chars().take(40).collect::<String>().escape_debug()
        ),
    })?;
    Ok(Some((of, seed)))
}

/// Loads the untrained twin of a model: same architecture, tokenizer and pooling, random parameters.
pub(super) fn load(
    of: &ModelSource,
    seed: u64,
    name: String,
    kept: (Device, Dtype),
    on: &mut OnTransfer<'_>,
) -> Result<Model> {
    let trained = Model::load_with(of, (Device::Cpu, Dtype::F32), on)?;
    if matches!(trained.arch.network, Network::LogitsOnly(_)) {
        let what = format!("an untrained twin is not available: {}", trained.arch.serves());
        return Err(ModelError::Config { file: name, what });
    }
    let sd = initializer_range(of)?;
    let Model { arch, tokenizer, sentence, pooler, .. } = trained;
    let params = initial(&arch, seed, sd);
    let d = arch.hidden;
    let mut twin = Model::from_params_with(&name, arch, params, tokenizer, kept)?;
    twin.sentence = sentence;
    twin.pooler = pooler.map(|_| {
        let mut rng = stream(seed, "untrained pooler");
        Pooler { weight: Array::new([d, d], deviates(&mut rng, d * d, sd)), bias: Array::zeros([d]) }
    });
    Ok(twin)
}

/// Returns `initializer_range` of the model's configuration, if valid.
fn initializer_range(of: &ModelSource) -> Result<f32> {
    if matches!(of, ModelSource::Vectors(_)) {
        return Ok(1.0);
    }
    let config = Files::at_hand(of)?.text("config.json")?;
    let config: Option<Value> = config.and_then(|t| python_json(&t).ok());
    let field = |key: &str| config.as_ref().and_then(|c| c.get(key)).and_then(Value::as_f64);
    let given = field("initializer_range").or_else(|| field("init_std"));
    Ok(given.filter(|sd| *sd > 0.0 && *sd <= 1.0).map_or(INITIAL_SD, |sd| sd as f32))
}

/// Draws random parameters, each from its own random stream, so that its values do not depend on the shapes of others:
/// - Transformers: normal weights and tables with standard deviation `sd`, biases 0, norms 1.
/// - LSTMs: uniform within 1 / sqrt(H), including biases (PyTorch).
/// - Word vectors: standard normal (PyTorch), zero for unknown words.
pub fn initial(arch: &Arch, seed: u64, sd: f32) -> Params {
    let mut params = Params::default();
    for p in arch.parameters() {
        let n: usize = p.shape.iter().product();
        let mut rng = stream(seed, &format!("untrained {}", p.name));
        let words = arch.network != Network::Transformer && p.name == "embed.tokens.weight";
        let data = match p.role {
            _ if words => {
                let mut rows = deviates(&mut rng, n, 1.0);
                rows[..arch.embedding.width].fill(0.0);
                rows
            }
            _ if arch.network == Network::BiLstm => {
                let bound = 1.0 / ((arch.hidden / 2) as f32).sqrt();
                uniform(&mut rng, n, bound)
            }
            Role::Weight => deviates(&mut rng, n, sd),
            Role::Bias => vec![0.0; n],
            Role::Scale => vec![1.0; n],
        };
        params.insert(p.name, Array::new(p.shape, data));
    }
    params
}

fn deviates(rng: &mut ChaCha8Rng, n: usize, sd: f32) -> Vec<f32> {
    // A positive, finite standard deviation is always accepted.
    Normal::new(0.0, sd).map_or_else(|_| vec![0.0; n], |normal| (0..n).map(|_| normal.sample(rng)).collect())
}

fn uniform(rng: &mut ChaCha8Rng, n: usize, bound: f32) -> Vec<f32> {
    Uniform::new(-bound, bound).map_or_else(|_| vec![0.0; n], |u| (0..n).map(|_| u.sample(rng)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{archs, batch};
    use crate::{HookPoint, Plan, Sites};

    #[test]
    fn untrained_twin_addresses_round_trip() {
        for (text, shown) in [
            ("untrained:bert-mini", "untrained:bert-mini"),
            ("untrained:bert-mini#7", "untrained:bert-mini#7"),
            ("bert-mini#untrained-7", "untrained:bert-mini#7"),
            ("untrained:glove:/a.txt?lower#3", "untrained:glove:/a.txt?lower#3"),
        ] {
            let source: ModelSource = text.parse().unwrap();
            assert_eq!(source.to_string(), shown);
            assert_eq!(shown.parse::<ModelSource>().unwrap(), source);
        }
        assert!("untrained:bert-mini#x".parse::<ModelSource>().unwrap_err().to_string().contains("whole number"));
        assert!("untrained:untrained:bert-mini".parse::<ModelSource>().is_err(), "`untrained:` cannot be nested");
        let deep = "untrained:".repeat(200_000);
        assert!(deep.parse::<ModelSource>().is_err(), "nesting is limited");
    }

    #[test]
    fn twin_shares_shape_and_tokenizer_but_not_weights() {
        let open = |name: &str| Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
        let (trained, twin, other) = (open("bert-mini"), open("untrained:bert-mini"), open("untrained:bert-mini#1"));
        assert_eq!(trained.arch(), twin.arch());
        assert_eq!(trained.tokenizer().unwrap().digest(), twin.tokenizer().unwrap().digest());
        assert!(trained.hash() != twin.hash() && twin.hash() != other.hash());
        assert_eq!(twin.hash(), open("untrained:bert-mini#0").hash(), "a seed always means the same model");
        assert_eq!(twin.name(), "untrained:bert-mini");
    }

    #[test]
    fn twins_of_all_architectures_run() {
        for arch in archs() {
            let plan = Plan::default().capture(HookPoint::ResidPost(arch.layers - 1)).logits_at(Sites::All);
            let model = Model::from_params("twin", arch.clone(), initial(&arch, 3, 0.02), None, Device::Cpu).unwrap();
            let trace = model.forward(&batch(&[3, 5], 1), &plan).unwrap();
            let finite = |a: &Array| a.data.iter().all(|v| v.is_finite());
            assert!(finite(&trace.captures[0].1) && finite(trace.logits().unwrap()), "{}", arch.family);
        }
    }

    #[test]
    fn initial_values_have_the_stated_deviation() {
        let arch = crate::testing::bert();
        let params = initial(&arch, 1, 0.5);
        let w = &params.get("blocks.0.mlp.up.weight").unwrap().data;
        let sd = (w.iter().map(|x| x * x).sum::<f32>() / w.len() as f32).sqrt();
        assert!((0.35..0.65).contains(&sd), "{sd}");
        assert!(params.get("blocks.0.norm1.weight").unwrap().data.iter().all(|v| *v == 1.0));
        assert!(params.get("blocks.0.mlp.up.bias").unwrap().data.iter().all(|v| *v == 0.0));
    }
}
