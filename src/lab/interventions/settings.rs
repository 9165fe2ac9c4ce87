//! This lab's settings: one row per spec field, and one per option of a method.

use super::answer::FEW_TO_KEEP;
use super::options::{Setting as MethodOption, SettingKind};
use super::oracle::OracleKind;
use super::registry::find;
use super::score::Distance;
use super::spec::{GRIDS, MOST_REPLICATES, Spec};
use corpus::agreement::Position;
use corpus::micro::frequencies::Frequencies;
use corpus::task::TASKS;
use figure::layers::grouped;
use lab::examples::{FEWEST_EXAMPLES, MAX_EXAMPLES, TaskSpec};
use lab::layer::LayerRef;
use lab::setting::rows::{level, long, models, row, seed, typed};
use lab::setting::{Kind, Known, Range, Setting, SettingError, Value, stops};

/// Choices of oracles, in the order of the row.
const ORACLES: [&[OracleKind]; 3] = [&[OracleKind::Mlp, OracleKind::Linear], &[OracleKind::Mlp], &[OracleKind::Linear]];

/// The fields of every run, in the order of the setup pane.
pub fn settings() -> Vec<Setting<Spec>> {
    vec![
        models("The models to probe, one after the other."),
        task(),
        data(),
        target(),
        also(),
        examples(),
        phi(),
        long("task.long", |s: &Spec| s.task.long, |s, l| s.task.long = l),
        position(),
        oracle_position(),
        tokens_per_text(),
        tokens_per_part(),
        layer(),
        oracle_layer(),
        oracles(),
        grid(),
        replicates(),
        training_seed(),
        distance(),
        level(),
        seed("Seed for drawing the examples, the split and the resamples."),
    ]
}

/// A method's options from its registry entry, preceded by its file if it takes one; empty if the spec does not run the method. A spec may
/// run a method several times with different options; `nth` selects one of these entries.
pub fn options(spec: &Spec, method: &str, nth: usize) -> Vec<Setting<Spec>> {
    let Some(known) = find(method).filter(|_| nth_of(spec, method, nth).is_some()) else { return Vec::new() };
    let given = known.needs.file.then(|| own_file(known.id, nth));
    given.into_iter().chain(known.settings.iter().map(|o| option(known.id, nth, o))).collect()
}

fn own_file(method: &'static str, nth: usize) -> Setting<Spec> {
    let help = "A safetensors file, which the method needs; it contains `directions`, or `states` edited from the table that `probity states` writes.";
    row(option_key(method, "file"), "Method file", help).file(
        "none yet",
        move |spec: &Spec| nth_of(spec, method, nth).and_then(|i| spec.methods[i].file.clone()),
        move |spec, path| {
            if let Some(i) = nth_of(spec, method, nth) {
                // Typed paths are relative to the current folder.
                spec.methods[i].base = std::path::PathBuf::new();
                spec.methods[i].file = path;
            }
        },
    )
}

/// Index in the spec of the `nth` entry of a method.
pub fn nth_of(spec: &Spec, method: &str, nth: usize) -> Option<usize> {
    let mut places = spec.methods.iter().enumerate().filter(|(_, m)| m.name == method);
    places.nth(nth).map(|(i, _)| i)
}

pub(crate) fn option_key(method: &str, option: &str) -> String {
    format!("method.{method}.{option}")
}

fn task() -> Setting<Spec> {
    row("task.name", "Task", "The probing task: the sentences, and the properties to probe.")
        .one_of(
            TASKS,
            |task| task.title.to_owned(),
            |s: &Spec, task| s.task.name == task.id,
            |s, task| {
                s.task.name = task.id.into();
                s.task.phi = s.task.phi.filter(|_| task.has_correlation());
                if task.property(&s.task.target).is_none() {
                    s.task.target = task.properties[0].id.into();
                }
                s.task.also.retain(|id| task.further.iter().any(|p| p.id == id));
            },
        )
        .shown(|spec, _| {
            let title = TASKS.iter().find(|t| t.id == spec.task.name).map(|t| t.title.to_owned());
            title.unwrap_or_else(|| spec.task.name.clone())
        })
}

fn data() -> Setting<Spec> {
    row("task.data", "Data", "A file of examples in place of the generated sentences.").file(
        "built in",
        |s: &Spec| s.task.data.clone(),
        |s, path| {
            s.task.data = path.map(|p| typed(&s.task.base, p));
            match s.task.data {
                // The rows of the file determine the correlation, and its labels are the properties.
                Some(_) => {
                    s.task.phi = None;
                    let found = s.task.data_path().and_then(|file| corpus::own::suggested(&file, &s.task.target));
                    if let Some((target, keep)) = found {
                        (s.task.target, s.task.keep, s.task.also) = (target, keep, Vec::new());
                    }
                }
                None => {
                    (s.task.target, s.task.keep) = ("subject_number".into(), Vec::new());
                    (s.task.position, s.task.oracle_position) = Default::default();
                }
            }
        },
    )
}

fn target() -> Setting<Spec> {
    let ids = |spec: &Spec| {
        let task = TASKS.iter().find(|t| t.id == spec.task.name);
        task.map_or(Vec::new(), |t| t.properties.iter().map(|p| p.id).collect())
    };
    Setting::new(
        "task.target",
        "Target",
        "The property that the edit changes; the other property should stay unchanged. With a file, any label of the file can be the target.",
        move |spec: &Spec, _| match spec.task.data {
            Some(_) => Kind::Text("subject_number"),
            None => Kind::Choice(ids(spec).iter().map(|p| p.replace('_', " ")).collect()),
        },
        move |spec: &Spec, _| match spec.task.data {
            Some(_) => Value::Text(spec.task.target.clone()),
            None => Value::Choice(ids(spec).iter().position(|p| *p == spec.task.target)),
        },
        move |spec, _, value| {
            let chosen = value.choice().and_then(|i| ids(spec).get(i).map(|id| (*id).to_owned()));
            spec.task.target = match (spec.task.data.is_some(), chosen) {
                (true, _) => value.text().unwrap_or_else(|| "subject_number".into()),
                (false, Some(id)) => id,
                (false, None) => return Ok(()),
            };
            Ok(())
        },
    )
    .shown(|spec, _| spec.task.target.replace('_', " "))
}

/// Additional properties to keep, in the order of the task.
fn also() -> Setting<Spec> {
    let further = |spec: &Spec| TASKS.iter().find(|t| t.id == spec.task.name).map_or(&[][..], |t| t.further);
    Setting::new(
        "task.also",
        "Also keep intact",
        "Additional properties to keep; selectivity is then the mean over all properties to keep, each judged by its own oracle.",
        move |spec: &Spec, _| match spec.task.data {
            Some(_) => Kind::Text("none"),
            None => Kind::Marks(further(spec).iter().map(|p| p.title.to_owned()).collect()),
        },
        move |spec: &Spec, _| {
            if spec.task.data.is_some() {
                let names = [&spec.task.also[..], &spec.task.keep].concat();
                return if names.is_empty() { Value::Unset } else { Value::Text(names.join(", ")) };
            }
            Value::Marks(further(spec).iter().map(|p| spec.task.also.iter().any(|id| id == p.id)).collect())
        },
        move |spec, _, value| {
            if spec.task.data.is_some() {
                let typed = value.text().unwrap_or_default();
                let names: Vec<String> =
                    typed.split(',').map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()).collect();
                let known = names.iter().all(|n| further(spec).iter().any(|p| p.id == n));
                (spec.task.also, spec.task.keep) = if known { (names, Vec::new()) } else { (Vec::new(), names) };
                return Ok(());
            }
            let Value::Marks(on) = value else { return Ok(()) };
            let chosen = further(spec).iter().zip(on).filter(|(_, on)| *on);
            spec.task.also = chosen.map(|(p, _)| p.id.to_owned()).collect();
            Ok(())
        },
    )
    .shown(move |spec, _| {
        if !spec.task.keep.is_empty() {
            return spec.task.keep.join(", ");
        }
        let titles = further(spec).iter().filter(|p| spec.task.also.iter().any(|id| id == p.id)).map(|p| p.title);
        let titles: Vec<&str> = titles.collect();
        if titles.is_empty() { "none".into() } else { titles.join(", ") }
    })
}

/// Share of the examples used for testing.
const TEST: f64 = 0.2;

/// A warning if few test sentences will have an attractor.
pub fn few_examples(task: &TaskSpec) -> Option<String> {
    let tested = (tested_with_attractor() * task.examples as f64).round() as usize;
    (task.has_attractors() && tested < FEW_TO_KEEP).then(|| {
        format!(
            "about {tested} test sentences will have an attractor, which may be too few to judge selectivity; about {} \
             examples would give {FEW_TO_KEEP}",
            grouped(examples_for(task, tested))
        )
    })
}

/// Expected share of the examples that are test sentences with an attractor.
fn tested_with_attractor() -> f64 {
    let attractors: f64 = Frequencies::natural().cells().iter().flat_map(|row| &row[1..]).sum();
    TEST * attractors
}

/// Number of examples, rounded up, that are expected to contain [`FEW_TO_KEEP`] test sentences with the property to keep. For attractors
/// the share of such sentences is known, so the number is the same before and after a run. Otherwise it is computed from `with`, the
/// number of such sentences in the task's examples.
pub(crate) fn examples_for(task: &TaskSpec, with: usize) -> usize {
    let counted = with.max(1) as f64 / task.examples as f64;
    let share = if task.has_attractors() { tested_with_attractor() } else { counted };
    (FEW_TO_KEEP as f64 / share / 500.0).ceil() as usize * 500
}

fn examples() -> Setting<Spec> {
    let help = "Number of examples; they are split into oracle (40 %), intervention (40 %) and test (20 %).";
    row("task.examples", "Examples", help).count(
        &[500, 1000, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000, 24_000, 48_000, 100_000],
        FEWEST_EXAMPLES..=MAX_EXAMPLES,
        |s: &Spec| s.task.examples,
        |s, n| s.task.examples = n,
    )
}

fn phi() -> Setting<Spec> {
    Setting::new(
        "task.phi",
        "Correlation φ",
        "Correlation of the two properties among the examples that have both; natural keeps the correlation of the language.",
        |_, _| Kind::Slider {
            stops: (-9..=9).map(|i| f64::from(i) / 10.0).collect(),
            range: Range::real(-0.95, 0.95),
            unset: Some("natural"),
        },
        |spec: &Spec, _| spec.task.phi.map_or(Value::Unset, Value::Number),
        |spec, _, value| {
            let phi = value.number();
            if phi.is_some() && spec.task.data.is_some() {
                return Err(SettingError::Refused("set by the rows of the file".into()));
            }
            spec.task.phi = phi;
            Ok(())
        },
    )
    .shown(|spec, _| match (&spec.task.data, spec.task.phi) {
        (Some(_), _) => "as in the file".into(),
        (None, phi) => phi.map_or("natural".into(), base::numbers::short),
    })
}

fn position() -> Setting<Spec> {
    let help = "The tokens whose states are changed; these are the mask, the first or last token, the words that carry the property (`target` of a row, or the difference from its twin), every token by itself, or the mean of \
                the tokens.";
    row("task.position", "Position", help)
        .one_of(&Position::ALL, |p| p.title().into(), |s: &Spec, p| s.task.position == *p, |s, p| s.task.position = *p)
        .shown(|spec, _| spec.task.position.title().into())
}

/// Choices of the oracle's position, in the order of the row.
const READS: [Option<Position>; 7] = {
    let [a, b, c, d, e, f] = Position::ALL;
    [None, Some(a), Some(b), Some(c), Some(d), Some(e), Some(f)]
};

fn oracle_position() -> Setting<Spec> {
    let title = |p: Option<Position>| p.map_or("same as edit", Position::title);
    let help = "The tokens that the oracles read; a position that the edit does not change needs a later oracle layer.";
    row("task.oracle_position", "Oracle position", help)
        .one_of(
            &READS,
            move |p| title(*p).into(),
            |s: &Spec, p| s.task.oracle_position == *p,
            |s, p| s.task.oracle_position = *p,
        )
        .shown(move |spec, _| title(spec.task.oracle_position).into())
}

fn tokens_per_text() -> Setting<Spec> {
    let help = "Maximum rows per text in probes and scores if every token is read; the edit still changes all tokens.";
    row("task.tokens_per_text", "Tokens per text", help).count(
        &[1, 2, 4, 8, 16, 32, 64, 128],
        1..=MAX_EXAMPLES,
        |s: &Spec| s.task.tokens_per_text,
        |s, n| s.task.tokens_per_text = n,
    )
}

fn tokens_per_part() -> Setting<Spec> {
    let help = "Maximum rows per part of the split if every token is read; if necessary, fewer tokens of each text are used, but at least one.";
    row("task.tokens_per_part", "Tokens per part", help).count(
        &[10_000, 20_000, 50_000, 100_000, 200_000, 500_000],
        FEWEST_EXAMPLES..=MAX_EXAMPLES,
        |s: &Spec| s.task.tokens_per_part,
        |s, n| s.task.tokens_per_part = n,
    )
}

fn layer() -> Setting<Spec> {
    Setting::new(
        "site.layer",
        "Layer",
        "The layer whose hidden state is changed, from 1; the highest value selects the last layer of each model.",
        |spec: &Spec, known| {
            let layers = known.layers(&spec.models).unwrap_or(1);
            let stops = (1..=layers).map(|l| l as f64).collect();
            Kind::Slider { stops, range: Range::whole(1.0, layers as f64), unset: None }
        },
        |spec, known| {
            let layers = known.layers(&spec.models).unwrap_or(1);
            Value::Number(spec.site.layer.resolve(layers).unwrap_or(layers) as f64)
        },
        |spec, known, value| {
            let layer = value.number().unwrap_or(1.0) as usize;
            let layers = known.layers(&spec.models).unwrap_or(layer);
            spec.site.layer = if layer == layers { LayerRef::Last } else { LayerRef::At(layer) };
            // An oracle cannot read before the intervention writes.
            let oracle = spec.site.oracle_layer.and_then(|l| l.resolve(layers).ok());
            if oracle.is_none_or(|l| l <= layer) {
                spec.site.oracle_layer = None;
            }
            Ok(())
        },
    )
    .shown(|spec, known| match (known.layers(&spec.models), spec.site.layer) {
        (Some(_), LayerRef::Last) if known.differ_in_layers(&spec.models) => "last".to_owned(),
        (Some(layers), LayerRef::Last) => format!("last ({layers})"),
        (Some(layers), LayerRef::At(l)) => format!("{l}/{layers}"),
        (None, layer) => layer.to_string(),
    })
}

/// The first and the last layer at which the oracle can read.
fn oracle_layers(spec: &Spec, known: &Known) -> (usize, usize) {
    let layers = known.layers(&spec.models).unwrap_or(1);
    (spec.site.layer.resolve(layers).unwrap_or(layers), layers)
}

fn oracle_layer() -> Setting<Spec> {
    Setting::new(
        "site.oracle_layer",
        "Oracle layer",
        "The layer that the oracles read: the layer of the edit or a later one.",
        |spec, known| {
            let (first, layers) = oracle_layers(spec, known);
            let stops = (first + 1..=layers).map(|l| l as f64).collect();
            let range = Range::whole(first as f64, layers as f64);
            Kind::Slider { stops, range, unset: Some("same as edit") }
        },
        |spec: &Spec, known| {
            let (first, layers) = oracle_layers(spec, known);
            let at = |l: LayerRef| Value::Number(l.resolve(layers).unwrap_or(layers).max(first) as f64);
            spec.site.oracle_layer.map_or(Value::Unset, at)
        },
        |spec, known, value| {
            let (first, layers) = oracle_layers(spec, known);
            spec.site.oracle_layer = match value.number().map(|l| l as usize) {
                None => None,
                Some(l) if l == first => None,
                Some(l) if l == layers => Some(LayerRef::Last),
                Some(l) => Some(LayerRef::At(l)),
            };
            Ok(())
        },
    )
    .shown(|spec, _| spec.site.oracle_layer.map_or("same as edit".into(), |l| l.to_string()))
}

fn oracle_names(oracles: &[OracleKind]) -> String {
    oracles.iter().map(|oracle| oracle.title()).collect::<Vec<_>>().join(" + ")
}

fn oracles() -> Setting<Spec> {
    row(
        "probe.oracles",
        "Oracles",
        "The probes that judge edits; the answer uses the first one. In specs: `mlp`, `linear`.",
    )
    .one_of(
        &ORACLES,
        |oracles| oracle_names(oracles),
        |s: &Spec, oracles| s.probe.oracles == **oracles,
        |s, oracles| s.probe.oracles = oracles.to_vec(),
    )
    .shown(|spec, _| oracle_names(&spec.probe.oracles))
}

fn grid() -> Setting<Spec> {
    let help = "The grid of hyperparameters from which each probe is chosen; `paper` is the 36 points of Canby et al.";
    row("probe.grid", "Probe grid", help)
        .one_of(&GRIDS, |g| (*g).to_owned(), |s: &Spec, g| s.probe.grid == *g, |s, g| s.probe.grid = (*g).to_owned())
        .shown(|spec, _| spec.probe.grid.clone())
}

fn replicates() -> Setting<Spec> {
    let help = "Number of training runs of all probes and fits on the same data; with several, bands cover sampling and training. Use 5 for a quick look, 20 for publication.";
    row("probe.replicates", "Training runs", help).count(
        &[1, 2, 3, 5, 8, 10, 20],
        1..=MOST_REPLICATES,
        |s: &Spec| s.probe.replicates,
        |s, k| s.probe.replicates = k,
    )
}

fn distance() -> Setting<Spec> {
    let help = "The distance between oracle outputs that defines C and S; the paper uses total variation.";
    row("distance", "Distance", help)
        .one_of(&Distance::ALL, |d| d.title().to_owned(), |s: &Spec, d| s.distance == *d, |s, d| s.distance = *d)
        .shown(|spec, _| spec.distance.title().to_owned())
}

fn training_seed() -> Setting<Spec> {
    let help = "The seed of training: weights, batches, and the methods' random draws; data and split do not change.";
    row("probe.seed", "Training seed", help).seed(|s: &Spec| s.probe.seed, |s, seed| s.probe.seed = seed)
}

/// An option of a method. A value equal to the default is removed from the spec.
fn option(method: &'static str, nth: usize, of: &'static MethodOption) -> Setting<Spec> {
    let range = Range { min: of.min, max: of.max, whole: of.kind != SettingKind::Real };
    let value = move |spec: &Spec| {
        let set = nth_of(spec, method, nth).and_then(|i| spec.methods[i].options.get(of.name));
        set.copied().unwrap_or(of.default)
    };
    let flag = of.kind == SettingKind::Flag;
    Setting::new(
        option_key(method, of.name),
        of.label,
        of.doc,
        move |_, _| match flag {
            true => Kind::Choice(["no", "yes"].map(String::from).to_vec()),
            false => Kind::Slider { stops: stops(range, of.default), range, unset: None },
        },
        move |spec: &Spec, _| match flag {
            true => Value::Choice(Some(usize::from(value(spec) != 0.0))),
            false => Value::Number(value(spec)),
        },
        move |spec, _, new| {
            let new = new.number().or(new.choice().map(|i| i as f64)).unwrap_or(of.default);
            if let Some(i) = nth_of(spec, method, nth) {
                let options = &mut spec.methods[i].options;
                if new == of.default {
                    options.remove(of.name);
                } else {
                    options.insert(of.name.into(), new);
                }
            }
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests;
