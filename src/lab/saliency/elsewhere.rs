//! External scores: rows from files with words, gold rationales and scores, joined into originals with their perturbed partners. Rows that
//! cannot be joined or judged are counted by reason, never dropped silently.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use thiserror::Error;

use super::metrics::input::{InputError, Scored};
use super::metrics::judge::{Judged, Partner, Rules, judge, mean_ratio};
use super::metrics::top_k::Size;
use corpus::readers::{Prediction, Rationale, Row};

/// Maximum number of inputs in memory.
const MOST: usize = 1_000_000;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ElsewhereError {
    #[error("more than {MOST} inputs; split the file")]
    Many,
    #[error("the files contain scores of {} systems ({}); choose one with --system", .0.len(), .0.join(", "))]
    Systems(Vec<String>),
    #[error("the files contain no scores of the system `{0}`, only of {1}")]
    NoSystem(String, String),
    #[error("no input has both words and scores{0}")]
    Nothing(String),
    /// There are only scores, without anything to compare them with.
    #[error(
        "no input has a gold rationale or a perturbed partner for comparison; also give the file that has them (rows from several files are joined by `id`)"
    )]
    NothingToCompare,
}

/// Rule for the length of predicted rationales.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SizeRule {
    /// The ratio in the row or, without one, the mean ratio of gold rationales in the same dimension. With the mean, the prediction uses
    /// some knowledge of the gold rationale's length.
    Own,
    /// The same size rule for all inputs.
    Fixed(Size),
}

struct Entry {
    id: String,
    words: Vec<String>,
    golds: Vec<Vec<usize>>,
    mask: Option<usize>,
    dimension: String,
    perturbs: Option<String>,
    perturbation: String,
    partners: Vec<String>,
    alignment: Option<Vec<(usize, usize)>>,
    ratio: Option<f64>,
}

/// Importance of an input's words.
enum Importance {
    Scores(Vec<f64>),
    Ranking(Vec<usize>),
}

/// Rows read so far.
#[derive(Default)]
pub struct Gathered {
    entries: Vec<Entry>,
    /// Indices of inputs by identifier.
    places: HashMap<String, usize>,
    /// By system: importance by identifier, or by position for rows without an identifier.
    importance: BTreeMap<String, HashMap<String, Importance>>,
    unnamed: BTreeMap<String, Vec<Importance>>,
    left_out: LeftOut,
}

/// Omitted inputs by reason: their number, and the identifier of the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut(BTreeMap<String, (usize, String)>);

impl LeftOut {
    fn add(&mut self, reason: impl Into<String>, id: &str) {
        self.0.entry(reason.into()).or_insert_with(|| (0, id.to_owned())).0 += 1;
    }

    /// Reasons with their counts and the first input of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize, &str)> {
        self.0.iter().map(|(reason, (count, first))| (reason.as_str(), *count, first.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Judged originals with their partners.
#[derive(Debug)]
pub struct Judgement {
    /// Judged originals with their dimensions, in the order of the rows.
    pub judged: Vec<(String, Judged)>,
    pub left_out: LeftOut,
    /// The rule for K in words.
    pub size: String,
    /// Name of the judged system; empty if the rows name none.
    pub system: String,
}

fn indices(list: &[u32]) -> Vec<usize> {
    list.iter().map(|i| *i as usize).collect()
}

impl Gathered {
    /// Adds a row. Rows that are neither inputs nor predictions are ignored.
    pub fn push(&mut self, row: Row<'_>) -> Result<(), ElsewhereError> {
        match row {
            Row::Rationale(rationale) => self.input(rationale),
            Row::Prediction(prediction) => {
                self.prediction(prediction);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn input(&mut self, row: Rationale<'_>) -> Result<(), ElsewhereError> {
        if self.entries.len() >= MOST {
            return Err(ElsewhereError::Many);
        }
        let id = row.id.map_or_else(|| format!("input {}", self.entries.len() + 1), |id| id.to_string());
        let words: Vec<String> = row.tokens.iter().map(ToString::to_string).collect();
        let golds: Vec<Vec<usize>> = row.rationales.iter().map(|set| indices(set)).collect();
        if let Some(place) = self.places.get(&id) {
            // A file with scores repeats the words from the file with gold rationales.
            let known = &mut self.entries[*place];
            if known.words == words && (known.golds.is_empty() || golds.is_empty()) {
                if known.golds.is_empty() {
                    known.golds = golds;
                }
            } else {
                self.left_out.add("input with the identifier of an earlier one but different words or rationales", &id);
            }
            return Ok(());
        }
        let alignment = row.alignment.map(|pairs| pairs.iter().map(|p| (p[0] as usize, p[1] as usize)).collect());
        self.places.insert(id.clone(), self.entries.len());
        self.entries.push(Entry {
            id,
            words,
            golds,
            mask: row.mask.map(|m| m as usize),
            dimension: row.dimension.map(|d| d.to_string()).unwrap_or_default(),
            perturbs: row.perturbs.map(|p| p.to_string()),
            perturbation: row.perturbation.map(|p| p.to_string()).unwrap_or_default(),
            partners: row.partners.into_iter().flatten().map(|p| p.to_string()).collect(),
            alignment,
            ratio: row.ratio,
        });
        Ok(())
    }

    fn prediction(&mut self, row: Prediction<'_>) {
        let importance = match (row.scores, row.ranking) {
            (Some(scores), _) => Importance::Scores(scores),
            (None, Some(ranking)) => Importance::Ranking(indices(&ranking)),
            (None, None) => return,
        };
        let system = row.system.map(|s| s.to_string()).unwrap_or_default();
        match row.id {
            Some(id) => {
                let of_system = self.importance.entry(system).or_default();
                if of_system.contains_key(id.as_str()) {
                    self.left_out.add("second set of scores for an input", &id);
                } else {
                    of_system.insert(id.to_string(), importance);
                }
            }
            None => self.unnamed.entry(system).or_default().push(importance),
        }
    }

    /// The importances of the chosen or only system.
    fn chosen(&mut self, system: Option<&str>) -> Result<(String, HashMap<String, Importance>), ElsewhereError> {
        let names: BTreeSet<String> = self.importance.keys().chain(self.unnamed.keys()).cloned().collect();
        let names: Vec<String> = names.into_iter().collect();
        let name = match (system, &names[..]) {
            (Some(wanted), _) if names.iter().any(|n| n == wanted) => wanted.to_owned(),
            (Some(wanted), _) => return Err(ElsewhereError::NoSystem(wanted.to_owned(), names.join(", "))),
            (None, [only]) => only.clone(),
            (None, []) => return Err(ElsewhereError::Nothing(String::new())),
            (None, _) => return Err(ElsewhereError::Systems(names)),
        };
        let mut all = self.importance.remove(&name).unwrap_or_default();
        for (entry, importance) in self.entries.iter().zip(self.unnamed.remove(&name).unwrap_or_default()) {
            all.entry(entry.id.clone()).or_insert(importance);
        }
        Ok((name, all))
    }

    /// Joins and judges the rows. `rules.size` is used with [`SizeRule::Fixed`], and is overridden under [`SizeRule::Own`].
    ///
    /// # Errors
    /// [`ElsewhereError`] if there is nothing to judge, or several systems have scores and none was chosen.
    pub fn judge(mut self, system: Option<&str>, size: SizeRule, rules: &Rules) -> Result<Judgement, ElsewhereError> {
        let (system, mut importance) = self.chosen(system)?;
        let mut left_out = std::mem::take(&mut self.left_out);
        let mut scored: HashMap<String, Scored> = HashMap::new();
        for entry in &self.entries {
            match importance.remove(&entry.id) {
                None => left_out.add("no scores", &entry.id),
                Some(found) => match judged_input(entry, found) {
                    Ok(input) => {
                        scored.insert(entry.id.clone(), input);
                    }
                    Err(e) => left_out.add(e.to_string(), &entry.id),
                },
            }
        }
        let mut strangers: Vec<&String> = importance.keys().collect();
        strangers.sort_unstable();
        strangers.into_iter().for_each(|id| left_out.add("scores for an unknown input", id));
        if scored.is_empty() {
            let first = left_out.iter().max_by_key(|(_, count, _)| *count);
            let why = first.map_or(String::new(), |(why, n, id)| format!(": {why} ({n} times, first for `{id}`)"));
            return Err(ElsewhereError::Nothing(why));
        }
        let sizes = Sizes::new(&self.entries, &scored, size);
        let owners = self.owners();
        let mut partners_of: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, entry) in self.entries.iter().enumerate() {
            if let Some(original) = owners.get(entry.id.as_str()) {
                partners_of.entry(original).or_default().push(place);
            }
        }
        let mut judged = Vec::new();
        for entry in self.entries.iter().filter(|e| !owners.contains_key(e.id.as_str())) {
            let Some(original) = scored.get(&entry.id) else { continue };
            let rules = Rules { size: sizes.of(entry), ..*rules };
            let places = partners_of.get(entry.id.as_str()).map_or(&[][..], Vec::as_slice);
            let (partners, missing) = self.partners(entry, places, &scored);
            match judge(original, &partners, &rules) {
                Ok(one) => judged.push((entry.dimension.clone(), Judged { missing, ..one })),
                Err(e) => left_out.add(e.to_string(), &entry.id),
            }
        }
        for entry in &self.entries {
            let owner = owners.get(entry.id.as_str());
            if owner.is_some_and(|o| !scored.contains_key(*o)) && scored.contains_key(&entry.id) {
                left_out.add("a perturbed input whose original is missing or has no scores", &entry.id);
            }
        }
        if judged.is_empty() {
            return Err(ElsewhereError::Nothing(" of an original".to_owned()));
        }
        if judged.iter().all(|(_, one)| one.original.f1.is_none() && one.pairs.is_empty()) {
            return Err(ElsewhereError::NothingToCompare);
        }
        Ok(Judgement { judged, left_out, size: sizes.words(), system })
    }

    /// The original of each perturbed input: the original named by its row, or else the first original whose row lists it.
    fn owners(&self) -> HashMap<&str, &str> {
        let mut owners: HashMap<&str, &str> = HashMap::new();
        for entry in &self.entries {
            if let Some(original) = entry.perturbs.as_deref().filter(|o| *o != entry.id) {
                owners.insert(&entry.id, original);
            }
        }
        for entry in &self.entries {
            for partner in &entry.partners {
                // A partner may list its original too, but that does not make the original a partner.
                let known = owners.contains_key(partner.as_str()) || owners.contains_key(entry.id.as_str());
                if !known && *partner != entry.id {
                    owners.insert(partner, &entry.id);
                }
            }
        }
        owners
    }

    /// An original's partners that can be judged, and the kinds of its other partners.
    fn partners(
        &self,
        original: &Entry,
        partners_of: &[usize],
        scored: &HashMap<String, Scored>,
    ) -> (Vec<Partner>, Vec<String>) {
        let (mut partners, mut missing) = (Vec::new(), Vec::new());
        let listed = original.partners.iter().map(String::as_str);
        let absent = listed.filter(|id| !self.places.contains_key(*id));
        missing.extend(absent.map(|_| String::new()));
        for entry in partners_of.iter().map(|place| &self.entries[*place]) {
            match scored.get(&entry.id) {
                Some(input) => partners.push(Partner {
                    scored: input.clone(),
                    perturbation: entry.perturbation.clone(),
                    alignment: entry.alignment.clone(),
                }),
                None => missing.push(entry.perturbation.clone()),
            }
        }
        (partners, missing)
    }
}

/// An input with its scores. The mask is excluded from the ranking.
fn judged_input(entry: &Entry, importance: Importance) -> Result<Scored, InputError> {
    let (words, golds) = (entry.words.clone(), entry.golds.clone());
    match importance {
        Importance::Scores(scores) => {
            let mut scores: Vec<Option<f64>> = scores.into_iter().map(Some).collect();
            if let Some(mask) = entry.mask.and_then(|m| scores.get_mut(m)) {
                *mask = None;
            }
            Scored::new(&entry.id, words, scores, golds)
        }
        Importance::Ranking(mut ranking) => {
            ranking.retain(|i| Some(*i) != entry.mask);
            Scored::from_ranking(&entry.id, words, &ranking, golds)
        }
    }
}

/// The size of predicted rationales, by dimension.
struct Sizes {
    rule: SizeRule,
    ratios: BTreeMap<String, f64>,
    given: bool,
}

impl Sizes {
    fn new(entries: &[Entry], scored: &HashMap<String, Scored>, rule: SizeRule) -> Self {
        let mut of: BTreeMap<&str, Vec<&Scored>> = BTreeMap::new();
        for entry in entries {
            of.entry(&entry.dimension).or_default().extend(scored.get(&entry.id));
        }
        let ratio = |(name, inputs): (&str, Vec<&Scored>)| Some((name.to_owned(), mean_ratio(inputs)?));
        let ratios = of.into_iter().filter_map(ratio).collect();
        Self { rule, ratios, given: entries.iter().all(|e| e.ratio.is_some()) }
    }

    fn of(&self, entry: &Entry) -> Size {
        match self.rule {
            SizeRule::Fixed(size) => size,
            // Without gold rationales, the size is irrelevant, because no F1 is computed.
            SizeRule::Own => {
                Size::Ratio(entry.ratio.or_else(|| self.ratios.get(&entry.dimension).copied()).unwrap_or(0.0))
            }
        }
    }

    fn words(&self) -> String {
        let listed = |(name, ratio): (&String, &f64)| {
            let name = if name.is_empty() { String::new() } else { format!(" in {name}") };
            format!("{ratio:.3}{name}")
        };
        match self.rule {
            SizeRule::Fixed(size) => size.words(),
            SizeRule::Own if self.ratios.is_empty() => "no gold rationales, so there is no token-F1".to_owned(),
            SizeRule::Own if self.given => "K = the row's ratio × words".to_owned(),
            SizeRule::Own => format!(
                "K = ratio × words, with the mean ratio of these gold rationales ({}); the prediction thus uses their mean length",
                self.ratios.iter().map(listed).collect::<Vec<_>>().join(", ")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::readers::Text;

    fn input(id: &'static str, perturbs: Option<&'static str>, partners: &[&'static str]) -> Row<'static> {
        Row::Rationale(Rationale {
            id: Some(id.into()),
            tokens: ["a", "b", "c"].map(Text::from).to_vec(),
            rationales: vec![vec![1]],
            perturbs: perturbs.map(Text::from),
            partners: Some(partners.iter().map(|p| Text::from(*p)).collect()),
            ..Rationale::default()
        })
    }

    fn scores(id: Option<&'static str>, scores: &[f64]) -> Row<'static> {
        let scores = Some(scores.to_vec());
        Row::Prediction(Prediction { id: id.map(Text::from), scores, ..Prediction::default() })
    }

    fn judged(rows: Vec<Row<'static>>) -> Result<Judgement, ElsewhereError> {
        let mut gathered = Gathered::default();
        rows.into_iter().for_each(|row| gathered.push(row).unwrap());
        gathered.judge(None, SizeRule::Own, &Rules::new(Size::Gold))
    }

    /// In TrustAI's data, an original and its perturbed rows list each other.
    #[test]
    fn partners_can_be_listed_on_either_side() {
        let s = [0.1, 0.5, 0.2];
        let rows = vec![
            input("o", None, &["p", "q", "gone"]),
            input("p", None, &["o"]),
            input("q", Some("o"), &[]),
            scores(Some("o"), &s),
            scores(Some("p"), &s),
            scores(Some("q"), &s),
        ];
        let found = judged(rows).unwrap();
        let [(_, one)] = &found.judged[..] else { panic!("{found:?}") };
        assert_eq!((one.pairs.len(), one.missing.len()), (2, 1));
        assert!(found.left_out.is_empty() && found.size.contains("0.333"), "{found:?}");
        assert_eq!((one.original.k, one.original.f1), (1, Some(1.0)));
    }

    #[test]
    fn unjoined_rows_are_counted_by_reason() {
        let rows = vec![
            input("o", None, &[]),
            input("p", Some("absent"), &[]),
            input("n", None, &[]),
            input("l", None, &[]),
            scores(Some("o"), &[0.1, 0.5, 0.2]),
            scores(Some("p"), &[0.1, 0.5, 0.2]),
            scores(Some("l"), &[0.1]),
            scores(Some("stranger"), &[0.1]),
            scores(Some("o"), &[0.0; 3]),
        ];
        let found = judged(rows).unwrap();
        let reasons: Vec<&str> = found.left_out.iter().map(|(why, ..)| why).collect();
        for word in ["no scores", "1 scores for 3 words", "unknown input", "second set", "whose original"] {
            assert!(reasons.iter().any(|r| r.contains(word)), "{word}: {reasons:?}");
        }
        assert_eq!(found.judged.len(), 1);
    }

    #[test]
    fn scores_without_identifiers_are_joined_by_position() {
        let rows = vec![
            input("o", None, &[]),
            input("p", None, &[]),
            scores(None, &[1.0, 0.0, 0.0]),
            scores(None, &[0.0, 1.0, 0.0]),
        ];
        let f1: Vec<Option<f64>> = judged(rows).unwrap().judged.iter().map(|(_, j)| j.original.f1).collect();
        assert_eq!(f1, [Some(0.0), Some(1.0)]);
    }

    #[test]
    fn several_systems_require_a_choice() {
        let of = |system: &'static str| {
            Row::Prediction(Prediction {
                id: Some("o".into()),
                system: Some(system.into()),
                scores: Some(vec![1.0; 3]),
                ..Prediction::default()
            })
        };
        let rows = || vec![input("o", None, &[]), of("a"), of("b")];
        assert!(matches!(judged(rows()), Err(ElsewhereError::Systems(names)) if names == ["a", "b"]));
        let mut gathered = Gathered::default();
        rows().into_iter().for_each(|row| gathered.push(row).unwrap());
        let other = gathered.judge(Some("c"), SizeRule::Own, &Rules::new(Size::Gold));
        assert!(matches!(other, Err(ElsewhereError::NoSystem(..))));
        assert!(matches!(judged(vec![input("o", None, &[])]), Err(ElsewhereError::Nothing(_))));
    }
}
