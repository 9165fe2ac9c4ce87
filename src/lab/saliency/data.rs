//! The sentences of a run: the built-in benchmark or a file of gold rationales, sampled evenly over the dimensions. An original and its
//! perturbed partners are sampled together.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::finding::{ALL, LeftOut, Sample, SentenceFinding};
use super::sentence::{joined, locate};
use super::spec::{Spec, dimension_name};
use crate::Host;
use base::Problem;
use base::files::hex;
use corpus::rationales::{Instance, Perturbation, SampleType, benchmark};
use corpus::readers::{Rationale, Row, Set};
use corpus::task::MASK;
use lab::fault::{Fault, problem};
use lab::host::NoticeLevel;
use stats::rng::{shuffle, stream};

/// Dimension of a row that gives no dimension.
const NO_DIMENSION: &str = "other";
const MOST_ROWS: usize = 1_000_000;
/// Number of rows between two checks for cancellation.
const BEAT: usize = 1_024;

/// An original, followed by its partners.
pub type Family = Vec<SentenceFinding>;

/// Sentences sampled for a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drawn {
    /// The originals with their partners, in the order of the run. The first sentences cover all dimensions.
    pub families: Vec<Family>,
    /// The file as named in the spec, or the built-in source.
    pub source: String,
    /// SHA-256 of the source.
    pub sha256: String,
    pub left_out: Vec<LeftOut>,
}

impl Drawn {
    pub fn inputs(&self) -> usize {
        self.families.iter().map(Vec::len).sum()
    }

    /// The dimensions present: first the benchmark's in its order, then others by name.
    pub fn dimensions(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for family in &self.families {
            for s in family {
                if !found.contains(&s.dimension) {
                    found.push(s.dimension.clone());
                }
            }
        }
        let known = corpus::rationales::Dimension::ALL.map(dimension_name);
        let place = |d: &String| known.iter().position(|k| k == d).unwrap_or(known.len());
        found.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.cmp(b)));
        found
    }
}

/// Counts an omission.
pub fn leave_out(list: &mut Vec<LeftOut>, model: &str, reason: &str, first: &str) {
    match list.iter_mut().find(|l| l.model == model && l.reason == reason) {
        Some(known) => known.count += 1,
        None => list.push(LeftOut { model: model.into(), reason: reason.into(), count: 1, first: first.into() }),
    }
}

/// Samples the sentences of a spec.
///
/// # Errors
/// [`Fault`] for a file that cannot be read or contains no usable sentence.
pub fn draw(spec: &Spec, host: &mut Host<'_>) -> Result<Drawn, Fault> {
    let mut drawn = match (spec.file(), &spec.data.file) {
        (Some(path), Some(named)) => of_file(&path, named, host)?,
        _ => built_in(spec)?,
    };
    let wanted = &spec.data.dimensions;
    drawn.families.retain(|f| wanted.is_empty() || f.iter().any(|s| wanted.contains(&s.dimension)));
    if drawn.families.is_empty() {
        let printed: Vec<String> =
            drawn.left_out.iter().take(3).map(|l| format!("{} × {}, first {}", l.count, l.reason, l.first)).collect();
        let printed = if printed.is_empty() { String::new() } else { format!(" ({})", printed.join("; ")) };
        let what = format!("{}: no sentence is usable{printed}", drawn.source);
        return Err(problem(&what, "data", "see `data.file` and `data.dimensions` of the spec").into());
    }
    drawn.families = evenly(std::mem::take(&mut drawn.families), spec.data.inputs, spec.seed);
    Ok(drawn)
}

/// Samples families from the dimensions, each time from the dimension with the fewest sentences so far.
fn evenly(families: Vec<Family>, inputs: usize, seed: u64) -> Vec<Family> {
    let mut pools: BTreeMap<String, Vec<Family>> = BTreeMap::new();
    for family in families {
        pools.entry(family[0].dimension.clone()).or_default().push(family);
    }
    let mut pools: Vec<(usize, Vec<Family>)> = pools
        .into_iter()
        .map(|(dimension, mut pool)| {
            shuffle(&mut stream(seed, &format!("rationales of {dimension}")), &mut pool);
            pool.reverse();
            (0, pool)
        })
        .collect();
    let (mut drawn, mut total) = (Vec::new(), 0);
    while let Some((taken, pool)) = pools.iter_mut().filter(|p| !p.1.is_empty()).min_by_key(|p| p.0) {
        let Some(family) = pool.pop() else { break };
        if total + family.len() > inputs && total > 0 {
            break;
        }
        *taken += family.len();
        total += family.len();
        drawn.push(family);
    }
    drawn
}

fn built_in(spec: &Spec) -> Result<Drawn, Fault> {
    let hint = "this is a bug in Probity; please report it";
    let language = spec.language().ok_or_else(|| problem(&"unknown language", "data.language", "en or zh"))?;
    let all = benchmark(language, 0).map_err(|e| problem(&e, "data", hint))?;
    let mut hash = Sha256::new();
    let mut drawn = Drawn { source: format!("rationales-{}, built in", language.code()), ..Drawn::default() };
    for instance in &all {
        let line = serde_json::to_vec(instance).map_err(|e| problem(&e, "data", hint))?;
        hash.update(&line);
        hash.update(b"\n");
        let Some(sentence) = of_instance(instance) else {
            leave_out(&mut drawn.left_out, ALL, "the text does not contain the words", &instance.sent_id.to_string());
            continue;
        };
        match instance.sample_type {
            SampleType::Original => drawn.families.push(vec![sentence]),
            // Partners come after their original.
            SampleType::Perturbed => {
                drawn.families.iter_mut().last().into_iter().for_each(|f| f.push(sentence.clone()))
            }
        }
    }
    drawn.sha256 = hex(&hash.finalize());
    Ok(drawn)
}

/// The name of a kind of perturbation in findings.
pub(super) fn perturbation_name(perturbation: Perturbation) -> &'static str {
    match perturbation {
        Perturbation::Dispens => "dispens",
        Perturbation::Import => "import",
        Perturbation::Trans => "trans",
    }
}

fn of_instance(i: &Instance) -> Option<SentenceFinding> {
    Some(SentenceFinding {
        sentence: i.sent_id.to_string(),
        dimension: dimension_name(i.dimension).into(),
        sample: if i.sample_type == SampleType::Original { Sample::Original } else { Sample::Perturbed },
        perturbation: i.perturbation.map(|p| perturbation_name(p).into()),
        original: i.ori_id.map(|id| id.to_string()),
        partners: i.rel_ids.iter().map(u64::to_string).collect(),
        spans: locate(&i.sent_text, &i.sent_token)?,
        text: i.sent_text.clone(),
        words: i.sent_token.clone(),
        masks: vec![i.mask_index],
        gold: vec![i.rationale_ids.clone()],
        answer: Some(i.answer.clone()),
        other_answers: i.other_answers.clone(),
        alignment: i.alignment.clone(),
    })
}

/// Positions of the words in a text; `None` if it contains anything but these words and spaces.
fn all_of(text: &str, words: &[String]) -> Option<Vec<(usize, usize)>> {
    let letters = |s: &str| s.chars().filter(|c| !c.is_whitespace()).count();
    let all = letters(text) == words.iter().map(|w| letters(w)).sum::<usize>();
    locate(text, words).filter(|_| all)
}

/// Converts a file's row to a sentence; the error is the reason why the row is unusable.
fn of_row(row: &Rationale<'_>, number: usize) -> Result<SentenceFinding, String> {
    let text = |t: &corpus::readers::Text<'_>| t.to_string();
    let mut words: Vec<String> = row.tokens.iter().map(text).collect();
    if words.iter().any(String::is_empty) {
        return Err("an empty word".into());
    }
    let at = row.mask.map(|m| m as usize).or_else(|| words.iter().position(|w| w == MASK));
    let Some(at) = at.filter(|at| *at < words.len()) else { return Err("no mask".into()) };
    let mut answer = row.answer.as_ref().map(text);
    if words[at] != MASK {
        // The word to predict may be written in place of the mask.
        answer = answer.or_else(|| Some(words[at].clone()));
        words[at] = MASK.into();
    }
    // Adjacent masks stand for the tokens of one answer.
    let masks: Vec<usize> = (at..words.len()).take_while(|w| words[*w] == MASK).collect();
    let gold = |set: &Vec<u32>| set.iter().map(|i| *i as usize).filter(|i| !masks.contains(i)).collect();
    let perturbed = row.perturbs.is_some();
    // Uses the source's own text if there is one, because spaces before punctuation change the tokens in some vocabularies.
    let written = row.text.as_ref().map(text).and_then(|t| Some((all_of(&t, &words)?, t)));
    let (sentence, spans) = written.map_or_else(|| joined(&words), |(spans, text)| (text, spans));
    Ok(SentenceFinding {
        sentence: row.id.as_ref().map_or_else(|| format!("row {number}"), text),
        dimension: row.dimension.as_ref().map_or_else(|| NO_DIMENSION.into(), text),
        sample: if perturbed { Sample::Perturbed } else { Sample::Original },
        perturbation: perturbed.then(|| row.perturbation.as_ref().map_or_else(|| NO_DIMENSION.into(), text)),
        original: row.perturbs.as_ref().map(text),
        partners: Vec::new(),
        text: sentence,
        words,
        spans,
        gold: row.rationales.iter().map(gold).collect(),
        masks,
        answer,
        other_answers: row.other_answers.iter().flatten().map(text).collect(),
        alignment: row.alignment.as_ref().map(|pairs| pairs.iter().map(|p| (p[0] as usize, p[1] as usize)).collect()),
    })
}

fn of_file(path: &Path, named: &str, host: &mut Host<'_>) -> Result<Drawn, Fault> {
    let hint = "`probity data show` lists the contents of a file";
    let failed = |e: &dyn std::fmt::Display| problem(e, "data.file", hint);
    let set = Set::open(path).map_err(|e| failed(&e))?;
    let names = set.names();
    let place = |file: usize, line: u64| match names.len() {
        1 => format!("line {line}"),
        _ => format!("{}, line {line}", names[file]),
    };
    let mut drawn = Drawn { source: named.to_owned(), ..Drawn::default() };
    let (mut sentences, mut rows, mut stop): (Vec<SentenceFinding>, usize, Option<Fault>) = (Vec::new(), 0, None);
    let reports = set.rows(&mut |file, row, line| {
        rows += 1;
        if rows.is_multiple_of(BEAT)
            && let Err(cancelled) = host.poll()
        {
            stop = Some(cancelled.into());
            return ControlFlow::Break(());
        }
        let reason = match row {
            Row::Rationale(r) => of_row(&r, rows).map(|sentence| sentences.push(sentence)).err(),
            other => Some(format!("not a gold rationale but a {}", other.kind())),
        };
        if let Some(reason) = reason {
            leave_out(&mut drawn.left_out, ALL, &reason, &place(file, line));
        }
        if rows >= MOST_ROWS {
            stop = Some(failed(&format!("more than {MOST_ROWS} rows; use part of the file")).into());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    if let Some(fault) = stop {
        return Err(fault);
    }
    for (file, report) in reports.map_err(|e| failed(&e))?.iter().enumerate() {
        if let Some(said) = report.rationales {
            host.notice(NoticeLevel::Info, problem(&format!("{}: {said}", names[file]), "data.file", hint))?;
        }
        drawn.left_out.extend(report.dropped.iter().map(|(kind, d)| LeftOut {
            model: ALL.into(),
            reason: format!("{}: {}", kind.title(), d.example),
            count: usize::try_from(d.count).unwrap_or(usize::MAX),
            first: place(file, d.first_line),
        }));
        let unread = report.failed.iter();
        unread.for_each(|why| leave_out(&mut drawn.left_out, ALL, why, &names[file]));
    }
    drawn.sha256 = hashed(&set).map_err(|e| failed(&format!("{}: {e}", path.display())))?;
    gather(sentences, &mut drawn);
    Ok(drawn)
}

/// SHA-256 of a file, as printed by `sha256sum`; for a folder, the hash of its concatenated files.
fn hashed(set: &Set) -> std::io::Result<String> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    for file in &set.files {
        let mut source = base::read::open(&file.path)?;
        loop {
            match source.read(&mut buffer)? {
                0 => break,
                n => hash.update(&buffer[..n]),
            }
        }
    }
    Ok(hex(&hash.finalize()))
}

fn gather(sentences: Vec<SentenceFinding>, drawn: &mut Drawn) {
    let mut place: HashMap<String, usize> = HashMap::new();
    let (originals, partners): (Vec<_>, Vec<_>) = sentences.into_iter().partition(|s| s.sample == Sample::Original);
    let mut leave = |reason: &str, id: &str| leave_out(&mut drawn.left_out, ALL, reason, id);
    for original in originals {
        match place.contains_key(&original.sentence) {
            true => leave("identifier already used by an earlier sentence", &original.sentence),
            false => {
                place.insert(original.sentence.clone(), drawn.families.len());
                drawn.families.push(vec![original]);
            }
        }
    }
    let mut seen: std::collections::HashSet<String> = place.keys().cloned().collect();
    for mut partner in partners {
        let family = partner.original.as_ref().and_then(|id| place.get(id));
        let Some(family) = family.and_then(|at| drawn.families.get_mut(*at)) else {
            leave("its original is missing", &partner.sentence);
            continue;
        };
        if !seen.insert(partner.sentence.clone()) {
            leave("identifier already used by an earlier sentence", &partner.sentence);
            continue;
        }
        let length = family[0].words.len();
        if partner
            .alignment
            .as_ref()
            .is_some_and(|pairs| pairs.iter().any(|p| p.0 >= length || p.1 >= partner.words.len()))
        {
            leave("alignment outside the sentences", &partner.sentence);
            continue;
        }
        // A partner has the dimension of its original.
        partner.dimension = family[0].dimension.clone();
        family[0].partners.push(partner.sentence.clone());
        family.push(partner);
    }
}

/// The error for a model that cannot use any of the sentences.
pub fn nothing(model: &str) -> Problem {
    let what = format!("`{model}` can process none of the sentences");
    problem(&what, "models", "choose a model for this language, or different data")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Drawn {
        built_in(&Spec::shipped()).unwrap()
    }

    #[test]
    fn built_in_sentences_match_their_text() {
        let drawn = all();
        assert!(drawn.left_out.is_empty(), "{:?}", drawn.left_out);
        assert!(drawn.inputs() > 2_400);
        for family in &drawn.families {
            assert_eq!(family[0].sample, Sample::Original);
            assert_eq!(family[0].partners.len(), family.len() - 1);
            for s in family {
                let chars: Vec<char> = s.text.chars().collect();
                for (word, (from, to)) in s.words.iter().zip(&s.spans) {
                    assert_eq!(*word, chars[*from..*to].iter().collect::<String>());
                }
            }
        }
    }

    #[test]
    fn samples_are_even_over_dimensions() {
        let families = all().families;
        let drawn = Drawn { families: evenly(families.clone(), 200, 0), ..Drawn::default() };
        assert!((190..=200).contains(&drawn.inputs()), "{}", drawn.inputs());
        let dimensions = drawn.dimensions();
        assert_eq!(dimensions, ["grammar", "semantics", "knowledge", "reasoning", "computation"]);
        for dimension in &dimensions {
            let count = drawn.families.iter().flatten().filter(|s| s.dimension == *dimension).count();
            assert!((36..=44).contains(&count), "{dimension}: {count}");
        }
        assert_eq!(evenly(families.clone(), 200, 0), drawn.families);
        assert_ne!(evenly(families.clone(), 200, 1), drawn.families);
        let whole = Drawn { families: evenly(families, usize::MAX, 3), ..Drawn::default() };
        assert_eq!(whole.inputs(), all().inputs());
    }

    #[test]
    fn invalid_rows_are_omitted_with_a_reason() {
        let row = |id: &'static str, tokens: &[&'static str], perturbs: Option<&'static str>| Rationale {
            id: Some(id.into()),
            tokens: tokens.iter().map(|t| (*t).into()).collect(),
            rationales: vec![vec![0]],
            perturbs: perturbs.map(Into::into),
            ..Rationale::default()
        };
        assert_eq!(of_row(&row("a", &["no", "mask"], None), 1).unwrap_err(), "no mask");
        let original = of_row(&row("a", &["A", "[MASK]"], None), 1).unwrap();
        let partner = |id, of| of_row(&row(id, &["An", "old", "[MASK]"], Some(of)), 2).unwrap();
        let mut outside = partner("d", "a");
        outside.alignment = Some(vec![(7, 0)]);
        let mut drawn = Drawn::default();
        gather(
            vec![partner("b", "a"), original.clone(), original, partner("c", "z"), partner("b", "a"), outside],
            &mut drawn,
        );
        assert_eq!(drawn.families.len(), 1);
        assert_eq!(drawn.families[0].iter().map(|s| s.sentence.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let reasons: Vec<(&str, usize)> = drawn.left_out.iter().map(|l| (l.reason.as_str(), l.count)).collect();
        assert_eq!(
            reasons,
            [
                ("identifier already used by an earlier sentence", 2),
                ("its original is missing", 1),
                ("alignment outside the sentences", 1)
            ]
        );
    }

    #[test]
    fn word_in_place_of_the_mask_is_the_answer() {
        let row = Rationale {
            tokens: ["The", "dogs", "are", "here"].iter().map(|t| (*t).into()).collect(),
            rationales: vec![vec![1, 2], vec![3]],
            mask: Some(2),
            ..Rationale::default()
        };
        let sentence = of_row(&row, 7).unwrap();
        assert_eq!((sentence.answer.as_deref(), sentence.words[2].as_str()), (Some("are"), "[MASK]"));
        assert_eq!((sentence.gold, sentence.sentence.as_str()), (vec![vec![1], vec![3]], "row 7"));
    }
}
