//! Inputs of a run: the sentences, and each model with its tokenized inputs and available methods.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::forecast::{Needs, needs};
use crate::Host;
use crate::data::{self, Drawn, draw, leave_out};
use crate::finding::{ALL, DataFinding, DimensionNote, Kind, LeftOut, ModelNote, SentenceFinding};
use crate::input::{Input, Reader};
use crate::methods::{METHODS, Method, RANDOM, named, shape};
use crate::metrics::top_k::Size;
use crate::spec::{Spec, TopK};
use lab::fault::{Fault, problem};
use lab::finding::Label;
use lab::host::NoticeLevel;
use model::{Long, Model};

const REASONS: usize = 4;

pub(crate) struct Member {
    pub name: String,
    /// Hash in the cache keys of the model's results.
    pub hash: String,
    /// Numbers of layers and heads.
    pub shape: (usize, usize),
    /// The model; `None` while it is dropped.
    model: Option<Arc<Model>>,
    /// Fields shared by findings about this model.
    pub label: Label,
    /// The available methods, the random ranking last.
    pub methods: Vec<&'static dyn Method>,
    /// Unavailable methods, with reasons.
    pub refused: Vec<(String, String)>,
    /// Inputs by sentence; `None` for an unusable sentence.
    pub inputs: Vec<Option<Input>>,
    /// The resources that the model needs, if they were measured before it was dropped.
    pub needs: Option<Needs>,
}

impl Member {
    /// The model, reloaded if it was dropped.
    ///
    /// # Errors
    /// [`Fault`] if it cannot be loaded, or is no longer the model for which the inputs were prepared.
    pub(crate) fn model(&self, host: &mut Host<'_>) -> Result<Arc<Model>, Fault> {
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        let model = host.model(&self.name)?;
        if model.hash() == self.hash {
            return Ok(model);
        }
        let what = format!("`{}` changed during the run", self.name);
        Err(problem(&what, "models", "run again, and leave the files of the model unchanged").into())
    }

    pub(crate) fn is_let_go(&self) -> bool {
        self.model.is_none()
    }
}

/// Inputs of a run, ready for queries.
pub(crate) struct Bench {
    pub spec: Spec,
    /// Fields shared by findings about all models.
    pub label: Label,
    /// The sentences, each original followed by its partners.
    pub sentences: Vec<SentenceFinding>,
    /// Index range of each original with its partners.
    pub families: Vec<Range<usize>>,
    /// Dimensions, in the order of tables.
    pub dimensions: Vec<String>,
    /// By dimension: mean share of words in a gold rationale.
    pub ratios: BTreeMap<String, f64>,
    pub members: Vec<Member>,
    source: String,
    sha256: String,
    left_out: Vec<LeftOut>,
}

/// A model with its available methods, without inputs.
pub(crate) fn member(spec: &Spec, name: &str, wanted: &[String], host: &mut Host<'_>) -> Result<Member, Fault> {
    let model = host.model(name)?;
    Reader::new(&model)?;
    let random = RANDOM.to_owned();
    let wanted = wanted.iter().filter(|m| **m != random).chain([&random]);
    let (mut methods, mut refused): (Vec<&'static dyn Method>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    for method in wanted.filter_map(|name| named(name)) {
        match method.refuses(&model, spec) {
            None => methods.push(method),
            Some(reason) => refused.push((method.id().into(), reason)),
        }
    }
    let label = Label::new(spec, name);
    Ok(Member {
        name: name.to_owned(),
        hash: model.hash().to_owned(),
        shape: shape(&model),
        model: Some(model),
        label,
        methods,
        refused,
        inputs: Vec::new(),
        needs: None,
    })
}

/// By dimension: mean share of words in gold rationales; absent without gold rationales.
fn ratios(sentences: &[SentenceFinding]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for s in sentences.iter().filter(|s| !s.gold.is_empty()) {
        let sum = sums.entry(s.dimension.clone()).or_default();
        let length: usize = s.gold.iter().map(Vec::len).sum();
        sum.0 += length as f64 / (s.gold.len() * s.words.len()) as f64;
        sum.1 += 1.0;
    }
    sums.into_iter().map(|(dimension, (sum, count))| (dimension, sum / count)).collect()
}

impl Bench {
    /// Samples the sentences, loads the models, and tokenizes every sentence for each model. If models are dropped, only one is in memory
    /// at a time.
    pub(crate) fn open(spec: &Spec, host: &mut Host<'_>) -> Result<Self, Fault> {
        let drawn = draw(spec, host)?;
        let dimensions = drawn.dimensions();
        let Drawn { families, source, sha256, mut left_out } = drawn;
        let (mut sentences, mut ranges) = (Vec::new(), Vec::new());
        for family in families {
            let from = sentences.len();
            sentences.extend(family);
            ranges.push(from..sentences.len());
        }
        let mut members = Vec::new();
        for name in &spec.models {
            let mut member = member(spec, name, &spec.saliency.methods, host)?;
            member.inputs = inputs(&member, &sentences, spec.data.long, &mut left_out, host)?;
            if member.inputs.iter().all(Option::is_none) {
                return Err(data::nothing(name).into());
            }
            if spec.models.len() > 1 && !host.asked() {
                member.needs = Some(needs(spec, &member, host)?);
                member.model = None;
            }
            members.push(member);
        }
        Ok(Self {
            spec: spec.clone(),
            label: Label::new(spec, ALL),
            ratios: ratios(&sentences),
            sentences,
            families: ranges,
            dimensions,
            members,
            source,
            sha256,
            left_out,
        })
    }

    /// Size of predicted rationales in a dimension.
    pub(crate) fn size(&self, dimension: &str) -> Size {
        match self.spec.metrics.k {
            TopK::Ratio => Size::Ratio(self.ratios.get(dimension).copied().unwrap_or(0.0)),
            TopK::Gold => Size::Gold,
            TopK::Fixed(k) => Size::Fixed(k),
        }
    }

    /// Reports the data and models of the run, and every sentence.
    pub(crate) fn report(&self, host: &mut Host<'_>) -> Result<(), Fault> {
        let t = host.elapsed();
        let data = self.data();
        let n = data.originals + data.perturbed;
        host.find(self.label.finding(n, true, t, Kind::Data(data)))?;
        for s in &self.sentences {
            host.find(self.label.finding(s.words.len(), true, t, Kind::Sentence(s.clone())))?;
        }
        self.tell_what_is_left_out(host)?;
        for member in &self.members {
            for (method, reason) in &member.refused {
                let what = format!("{method} is unavailable for `{}` ({reason})", member.name);
                let hint = "the other methods and the predictions are still measured";
                host.notice(NoticeLevel::Warning, lab::fault::problem(&what, "saliency.methods", hint))?;
            }
        }
        Ok(())
    }

    /// Reports what is left out. Unreadable rows cause a warning; sentences that a single model cannot use do not, because they are often
    /// unavoidable.
    fn tell_what_is_left_out(&self, host: &mut Host<'_>) -> Result<(), Fault> {
        let hint = "the `data` finding lists all reasons with their counts";
        for model in std::iter::once(ALL).chain(self.members.iter().map(|m| m.name.as_str())) {
            let mine: Vec<&LeftOut> = self.left_out.iter().filter(|l| l.model == model).collect();
            let count: usize = mine.iter().map(|l| l.count).sum();
            let each: Vec<String> = mine
                .iter()
                .take(REASONS)
                .map(|l| format!("{} × {}, first {}", l.count, l.reason, l.first))
                .chain((mine.len() > REASONS).then(|| "…".to_owned()))
                .collect();
            let (level, what) = match (count, model) {
                (0, _) => continue,
                (1, ALL) => (NoticeLevel::Warning, "1 row is left out".to_owned()),
                (n, ALL) => (NoticeLevel::Warning, format!("{n} rows are left out")),
                (n, name) => {
                    let of = self.sentences.len();
                    (NoticeLevel::Info, format!("`{name}` skips {n} of {of} sentences"))
                }
            };
            let what = format!("{what}: {}", each.join("; "));
            host.notice(level, lab::fault::problem(&what, &self.source, hint))?;
        }
        Ok(())
    }

    fn data(&self) -> DataFinding {
        let note = |dimension: &String| {
            let of = |original: bool| {
                let mine = self.sentences.iter().filter(|s| s.dimension == *dimension);
                mine.filter(|s| s.original.is_none() == original).count()
            };
            DimensionNote {
                dimension: dimension.clone(),
                originals: of(true),
                perturbed: of(false),
                ratio: self.ratios.get(dimension).copied().unwrap_or(0.0),
            }
        };
        let dimensions: Vec<DimensionNote> = self.dimensions.iter().map(note).collect();
        let model = |m: &Member| {
            let (layers, heads) = m.shape;
            ModelNote {
                name: m.name.clone(),
                hash: m.hash.clone(),
                methods: m.methods.iter().map(|m| m.id().to_owned()).collect(),
                refused: m.refused.clone(),
                inputs: m.inputs.iter().flatten().count(),
                layers,
                heads,
                cut: m.inputs.iter().flatten().filter(|i| i.cut).count(),
            }
        };
        let k = match self.spec.metrics.k {
            TopK::Ratio => "K = the dimension's rationale ratio × words".to_owned(),
            _ => self.size("").words(),
        };
        DataFinding {
            source: self.source.clone(),
            sha256: self.sha256.clone(),
            originals: dimensions.iter().map(|d| d.originals).sum(),
            perturbed: dimensions.iter().map(|d| d.perturbed).sum(),
            dimensions,
            left_out: self.left_out.clone(),
            models: self.members.iter().map(model).collect(),
            k,
        }
    }
}

fn inputs(
    member: &Member,
    sentences: &[SentenceFinding],
    long: Long,
    left_out: &mut Vec<LeftOut>,
    host: &mut Host<'_>,
) -> Result<Vec<Option<Input>>, Fault> {
    let model = member.model(host)?;
    let reader = Reader::new(&model)?.with_long(long);
    let mut inputs = Vec::with_capacity(sentences.len());
    for (at, sentence) in sentences.iter().enumerate() {
        if at % 256 == 0 {
            host.poll()?;
        }
        inputs.push(match reader.read(sentence)? {
            Ok(input) => Some(input),
            Err(reason) => {
                leave_out(left_out, &member.name, &reason, &sentence.sentence);
                None
            }
        });
    }
    let cut = inputs.iter().flatten().filter(|i: &&Input| i.cut).count();
    if cut > 0 {
        let (all, most) = (sentences.len(), model.arch().max_positions);
        let what = format!(
            "{cut} of {all} sentences exceed the maximum of {most} tokens of `{}`: they {}",
            member.name,
            long.done()
        );
        let hint = "words outside the model's input are not ranked; to change this, set `data.long`";
        host.notice(NoticeLevel::Info, lab::fault::problem(&what, "data.long", hint))?;
    }
    Ok(inputs)
}

/// Names of all methods, for a message.
pub(crate) fn known_methods() -> String {
    METHODS.iter().map(|m| m.id()).collect::<Vec<_>>().join(", ")
}
