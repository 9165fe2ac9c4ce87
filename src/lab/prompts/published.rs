//! Prompt preference computed from a table of external results: relation, prompt, model, P@1.

use std::path::{Path, PathBuf};

use corpus::readers::{MARKS, is_missing, with_tabs};
use thiserror::Error;

use super::places::Ties;
use super::preference::{LARGE, Preference, is_over, is_unstable};

/// Accepted names of the score column in a table with one row per model.
const SCORES: [&str; 4] = ["p1", "p_at_1", "p@1", "P@1"];
/// Columns that are not models, in a table with one column per model.
const OTHERS: [&str; 4] = ["relation", "prompt", "label", "prompt_index"];
const MAX_FIELDS: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    #[error(
        "{}, line 1: {what}; expected the columns `relation`, `model`, `prompt` and `p1`, or `relation`, `prompt` and \
         one column per model",
        file.display()
    )]
    Header { file: PathBuf, what: String },
    #[error("{}, line {line}: {what}", file.display())]
    Row {
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The problem and the expected form.
        what: String,
    },
}

/// A prompt with the score of each model.
pub(crate) type PromptScores = (String, Vec<Option<f64>>);
/// A model with its number of prompts and, for two or more, their spread.
pub(crate) type ModelSpread = (String, usize, Option<Preference>);

/// Scores by relation, prompt and model, in order of appearance and in the unit of the table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScoreTable {
    pub models: Vec<String>,
    /// The relations with their prompts and scores; a missing score is `None`.
    pub relations: Vec<(String, Vec<PromptScores>)>,
    /// True if scores are from 0 to 1; false if they are in per cent.
    pub fractions: bool,
    /// Number of cells without a score (empty or NaN).
    pub missing: usize,
    /// Number of scores below 1 in a table of per cent without signs, which may be fractions.
    pub small: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// By model: standard deviation, gap, worst and best, averaged over relations, and the number of relations with a gap above 10 points.
    pub models: Vec<(String, Option<[f64; 4]>, usize)>,
    /// By relation and model: number of prompts and their spread.
    pub relations: Vec<(String, Vec<ModelSpread>)>,
    /// Number of relations on which the order of the models changes with the prompt.
    pub unstable: usize,
    /// Number of cells without a score.
    pub missing: usize,
}

enum Columns {
    Long { model: usize, score: usize },
    Wide(Vec<usize>),
}

impl ScoreTable {
    /// Parses a table with a header line and fields separated by tabs, commas or semicolons.
    pub fn parse(text: &str, file: &Path) -> Result<Self, TableError> {
        let header = |what: String| TableError::Header { file: file.to_owned(), what };
        let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        let first = lines.next().map_or("", |(_, l)| l);
        let mark = MARKS.into_iter().filter(|_| !first.contains('\t')).max_by_key(|m| first.matches(*m).count());
        let tabbed = |line: &'_ str| mark.map_or(line.to_owned(), |mark| with_tabs(line, mark));
        let first = tabbed(first);
        let names: Vec<&str> = first.split('\t').map(str::trim).take(MAX_FIELDS).collect();
        let at = |name: &str| names.iter().position(|n| n.eq_ignore_ascii_case(name));
        let relation = at("relation").ok_or_else(|| header("no column `relation`".into()))?;
        let prompt = at("prompt").ok_or_else(|| header("no column `prompt`".into()))?;
        let columns = match (at("model"), SCORES.iter().find_map(|s| at(s))) {
            (Some(model), Some(score)) => Columns::Long { model, score },
            (Some(_), None) => return Err(header("there is a column `model` but no column with scores (`p1`)".into())),
            (None, _) => {
                let is_other = |name: &str| OTHERS.iter().any(|other| other.eq_ignore_ascii_case(name));
                Columns::Wide((0..names.len()).filter(|k| !is_other(names[*k])).collect())
            }
        };
        let mut table = Self::default();
        if let Columns::Wide(list) = &columns {
            if list.is_empty() {
                return Err(header(
                    "no model columns: add one column of scores per model, or the columns `model` and `p1`".into(),
                ));
            }
            list.iter().for_each(|k| table.models.push(names[*k].to_owned()));
        }
        let (mut signs, mut missing) = (None, 0);
        for (number, line) in lines.filter(|(_, l)| !l.trim().is_empty()) {
            let wrong = |what: String| TableError::Row { file: file.to_owned(), line: number + 1, what };
            let line = tabbed(line);
            let fields: Vec<&str> = line.split('\t').map(str::trim).take(MAX_FIELDS).collect();
            if fields.len() != names.len() {
                return Err(wrong(format!("{} fields, but the header has {}", fields.len(), names.len())));
            }
            let mut take = |model: &str, cell: &str| -> Result<(), TableError> {
                let score = score(cell, mark != Some(',')).map_err(&wrong)?;
                let sign = score.map(|_| cell.ends_with('%'));
                if signs.zip(sign).is_some_and(|(one, other)| one != other) {
                    return Err(wrong(format!(
                        "`{cell}`: some scores have a per cent sign and others do not; use one form"
                    )));
                }
                signs = signs.or(sign);
                missing += usize::from(score.is_none());
                table.put(fields[relation], fields[prompt], model, score).map_err(&wrong)
            };
            match &columns {
                Columns::Long { model, score } => take(fields[*model], fields[*score])?,
                Columns::Wide(list) => list.iter().try_for_each(|k| take(names[*k], fields[*k]))?,
            }
        }
        let all = table.relations.iter().flat_map(|r| &r.1).flat_map(|p| &p.1).flatten();
        let (fractions, none) = (signs != Some(true) && all.clone().all(|s| *s <= 1.0), all.clone().count() == 0);
        let small = all.filter(|s| **s > 0.0 && **s < 1.0).count();
        (table.fractions, table.missing) = (fractions, missing);
        table.small = if fractions || signs == Some(true) { 0 } else { small };
        if none {
            return Err(header("there is no row with a score".into()));
        }
        Ok(table)
    }

    fn put(&mut self, relation: &str, prompt: &str, model: &str, score: Option<f64>) -> Result<(), String> {
        if relation.is_empty() || model.is_empty() {
            return Err("a row without a relation or a model".into());
        }
        let k = self.models.iter().position(|m| m == model).unwrap_or_else(|| {
            self.models.push(model.to_owned());
            self.models.len() - 1
        });
        let r = self.relations.iter().position(|r| r.0 == relation).unwrap_or_else(|| {
            self.relations.push((relation.to_owned(), Vec::new()));
            self.relations.len() - 1
        });
        let prompts = &mut self.relations[r].1;
        let p = prompts.iter().position(|p| p.0 == prompt).unwrap_or_else(|| {
            prompts.push((prompt.to_owned(), Vec::new()));
            prompts.len() - 1
        });
        let scores = &mut prompts[p].1;
        if scores.len() <= k {
            scores.resize(k + 1, None);
        }
        if scores[k].is_some() {
            return Err(format!("{model} has a second score for `{prompt}` of {relation}"));
        }
        scores[k] = score;
        Ok(())
    }

    /// Spread over prompts, by relation and model, and over relations.
    pub fn report(&self, ties: Ties) -> Report {
        let large = if self.fractions { LARGE } else { 100.0 * LARGE };
        let mut relations = Vec::new();
        let mut each: Vec<Vec<Preference>> = vec![Vec::new(); self.models.len()];
        let mut unstable = 0;
        for (relation, prompts) in &self.relations {
            let score = |p: &(String, Vec<Option<f64>>), k: usize| p.1.get(k).copied().flatten();
            let mut rows = Vec::new();
            for (k, model) in self.models.iter().enumerate() {
                let scores: Vec<f64> = prompts.iter().filter_map(|p| score(p, k)).collect();
                let preference = Preference::of(&scores).filter(|_| scores.len() > 1);
                each[k].extend(preference);
                if !scores.is_empty() {
                    rows.push((model.clone(), scores.len(), preference));
                }
            }
            // Models can be ranked only with prompts that have a score for every model.
            let whole = |p: &(String, Vec<Option<f64>>)| -> Option<Vec<f64>> {
                (0..self.models.len()).map(|k| score(p, k)).collect()
            };
            let orders: Vec<Vec<f64>> = prompts.iter().filter_map(whole).collect();
            unstable += usize::from(is_unstable(&orders, ties));
            relations.push((relation.clone(), rows));
        }
        let over = |list: &[Preference]| list.iter().filter(|p| is_over(p.gap, large)).count();
        let means = |list: &[Preference]| {
            let mean = |of: fn(&Preference) -> f64| list.iter().map(of).sum::<f64>() / list.len() as f64;
            (!list.is_empty()).then(|| [mean(|p| p.std), mean(|p| p.gap), mean(|p| p.worst), mean(|p| p.best)])
        };
        let models = self.models.iter().zip(&each);
        let models = models.map(|(m, list)| (m.clone(), means(list), over(list))).collect();
        Report { models, relations, unstable, missing: self.missing }
    }
}

/// Parses a score. A per cent sign is removed, and a comma in a table without commas as separators is a decimal mark.
fn score(cell: &str, is_decimal_comma: bool) -> Result<Option<f64>, String> {
    if is_missing(cell) {
        return Ok(None);
    }
    let mut plain = cell.trim_end_matches('%').trim_end().to_owned();
    if is_decimal_comma && !plain.contains('.') {
        plain = plain.replacen(',', ".", 1);
    }
    let value = base::numbers::number(&plain).map_err(|e| format!("`{cell}`: {e}"))?;
    if (0.0..=100.0).contains(&value) {
        return Ok(Some(value));
    }
    Err(format!("`{cell}` is not a score; scores are from 0 to 1, or from 0 to 100 per cent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ScoreTable, TableError> {
        ScoreTable::parse(text, Path::new("t.tsv"))
    }

    #[test]
    fn long_and_wide_tables_agree() {
        let long = parse("relation\tmodel\tprompt\tp1\nr\ta\tp\t10\nr\tb\tp\t20.5\nr\ta\tq\t30\nr\tb\tq\t5\n").unwrap();
        let wide = parse("relation\tlabel\tprompt\ta\tb\nr\tx\tp\t10\t20.5\nr\tx\tq\t30\t5\n").unwrap();
        assert_eq!(long, wide);
        // Header names in any case and all three separators are accepted.
        for mark in ["\t", ",", ";"] {
            let text = "Relation\tLABEL\tPrompt\ta\tb\nr\tx\tp\t10\t20.5\nr\tx\tq\t30\t5\n".replace('\t', mark);
            assert_eq!(parse(&text).unwrap(), wide, "{mark}");
        }
        let report = long.report(Ties::EarlierLower);
        assert_eq!((report.unstable, report.models[0].2, report.models[1].2), (1, 1, 1));
        assert_eq!(report.models[0].1, Some([10.0, 20.0, 10.0, 30.0]));
        assert_eq!(report.relations[0].1[0].1, 2);
    }

    #[test]
    fn fractions_count_a_tenth_as_ten_points() {
        let table = parse("relation\tmodel\tprompt\tp1\nr\ta\tp\t.1\nr\ta\tq\t1/4\n").unwrap();
        assert!(table.fractions);
        assert_eq!(table.report(Ties::EarlierLower).models[0].2, 1);
        assert!(!parse("relation\tmodel\tprompt\tp1\nr\ta\tp\t0.5%\n").unwrap().fractions);
    }

    /// Regression: decimal commas and several words for a missing value used to be refused, and fractions in a table of per cent used to be
    /// accepted silently.
    #[test]
    fn decimal_commas_and_words_for_missing_values_are_read() {
        for mark in ["\t", ";"] {
            let text = "relation\tprompt\ta\nr\tp\t50,5\nr\tq\t0,3\nr\ts\t#N/A\nr\tt\t--\nr\tu\t—\nr\tv\t?\n"
                .replace('\t', mark);
            let table = parse(&text).unwrap();
            assert_eq!((table.missing, table.small, table.relations[0].1[0].1[0]), (4, 1, Some(50.5)), "{mark}");
        }
    }

    #[test]
    fn missing_scores_are_skipped_and_errors_name_lines() {
        let table = parse("relation\tprompt\ta\tb\nr\tp\t1\tnan\nr\tq\t2\t3\n").unwrap();
        let report = table.report(Ties::EarlierLower);
        assert_eq!((report.relations[0].1[1].1, report.unstable, report.missing), (1, 0, 1));
        assert_eq!((report.relations[0].1[1].2, report.models[1].1), (None, None), "one prompt has no spread");
        let commas = parse("relation,prompt,a,b\nr,\"p, q\",1,\nr,q,2,3\n").unwrap();
        assert_eq!((commas.relations[0].1[0].0.as_str(), commas.missing), ("p, q", 1));
        for (text, printed) in [
            ("a\tb\n", "no column `relation`"),
            ("relation\tprompt\n", "no model columns"),
            ("relation\tprompt\tmodel\n", "no column with scores"),
            ("relation\tprompt\ta\n", "no row with a score"),
            ("relation\tprompt\ta\nr\tp\n", "t.tsv, line 2: 2 fields"),
            ("relation\tprompt\ta\nr\tp\tx\n", "t.tsv, line 2: `x`"),
            ("relation\tprompt\ta\nr\tp\t50%\nr\tq\t.3\n", "line 3: `.3`: some scores have a per cent sign"),
            ("relation\tprompt\ta\nr\tp\t-1\n", "not a score"),
            ("relation\tprompt\ta\nr\tp\t101\n", "not a score"),
            ("relation\tprompt\ta\nr\tp\t1\nr\tp\t2\n", "line 3: a has a second score"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(printed), "{printed}: {error}");
        }
    }
}
