//! The end of a file: notes, and its rows by filter and run.

use std::collections::HashMap;

use super::super::ids::{Names, Places};
use super::super::keys::is_lower_better;
use super::super::{Group, Metric, Print, Results};
use super::{Column, Gather, MOST_NAMES, Shape};
use crate::readers::ReadError;

impl Gather<'_> {
    /// Drops metrics that are missing from a row and returns a note on each.
    fn settle(&mut self) -> Result<Vec<String>, ReadError> {
        let n = self.ids.len();
        for column in &mut self.columns {
            if column.values.len() < n {
                if column.missing == 0 {
                    column.first_missing = self.lines[column.values.len()];
                }
                column.missing += n - column.values.len();
                column.values.resize(n, f64::NAN);
            }
        }
        if self.columns.iter().all(|c| c.missing > 0) {
            let (shown, line) = self
                .columns
                .first()
                .map_or((String::new(), self.lines[0]), |c| (base::text::shortened(&c.name, 60), c.first_missing));
            if let Some((line, what)) = self.grouped_number(&shown) {
                return self.refuse(line, what, "a number without thousands separators");
            }
            let what = format!("`{shown}` is missing or not a finite number");
            return self.refuse(line, what, "a number in every row");
        }
        let mut notes = Vec::new();
        for column in self.columns.iter().filter(|c| c.missing > 0) {
            let name = base::text::shortened(&column.name, 60);
            notes.push(format!("metric `{name}` left out: {} of {n} rows lack a number for it", column.missing));
        }
        if self.unscored > 0 {
            let samples = if self.unscored == 1 { "sample" } else { "samples" };
            notes.push(format!("left out {} {samples} without a score", self.unscored));
        }
        if self.nearly > 0 {
            let nearly = self.nearly;
            notes.push(format!(
                "{nearly} of {n} predictions differ from the target only in case or in leading or trailing spaces and count as wrong; \
                 `--match lenient` counts them as right"
            ));
        }
        if let Some((prediction, target)) =
            self.unequal.as_ref().filter(|_| self.equal == 0 && self.nearly == 0 && n > 1)
        {
            notes.push(format!(
                "no prediction equals its target, for example `{prediction}` and `{target}`; check that both have the same form"
            ));
        }
        if self.blank > 0 {
            notes.push(format!("{} of {n} predictions are empty and count as wrong", self.blank));
        }
        if self.listed > 0 {
            let listed = self.listed;
            notes.push(format!("{listed} of {n} targets are lists: a prediction is right if it equals any entry"));
        }
        match self.shape {
            Some(Shape::Wrong(key)) => notes.push(format!("`{key}` is read as 1 for a wrong answer and 0 for a right one")),
            Some(Shape::Correct("correct")) if self.binary_answers == n => notes.push(
                "`correct` is read as 1 for a right answer and 0 for a wrong one; if it is the expected answer, rename the \
                 column to `target`"
                    .to_owned(),
            ),
            _ => {}
        }
        self.columns.retain(|c| c.missing == 0);
        for column in self.columns.iter_mut().filter(|c| is_lower_better(&c.name)) {
            column.values.iter_mut().for_each(|value| *value = 0.0 - *value);
            let name = base::text::shortened(&column.name, 60);
            notes.push(format!("lower values of `{name}` are better, so they are negated: higher means better"));
        }
        if self.data_hash != 0 {
            self.prints.iter_mut().for_each(|print| (print.hash, print.hash_rank) = (self.data_hash, 1));
        }
        Ok(notes)
    }

    /// Describes the first number with thousands separators, if it is in this column.
    pub(super) fn grouped_number(&self, column: &str) -> Option<(u64, String)> {
        let (line, key, cell) = self.grouped.as_ref().filter(|(_, key, _)| key == column)?;
        Some((*line, format!("`{key}` is `{}`, a number with thousands separators", base::text::shortened(cell, 40))))
    }

    /// Returns the rows by filter, in file order.
    pub(crate) fn finish(mut self) -> Result<Vec<Group>, ReadError> {
        if self.ids.is_empty() {
            return Err(ReadError::file(self.file, "it has no rows", "results with one item per row"));
        }
        let notes = self.settle()?;
        if self.filters.names.len() == 1 && self.runs.names.len() == 1 && self.unnamed {
            self.name_filters();
        }
        let mut groups = Vec::new();
        for (number, name) in self.filters.names.iter().enumerate() {
            let rows: Vec<u32> =
                (0..self.ids.len() as u32).filter(|row| self.filter_of[*row as usize] == number as u32).collect();
            if self.wanted.filter.as_ref().is_none_or(|wanted| wanted == name) {
                let runs = self.runs(rows)?;
                groups.push(Group { filter: name.clone(), runs, notes: notes.clone() });
            }
        }
        if groups.is_empty() {
            let known = base::text::shortened(&self.filters.names.join(", "), 300);
            let filter = self.wanted.filter.as_deref().unwrap_or_default();
            let what = format!("no row of the filter `{}`", base::text::shortened(filter, 60));
            return Err(ReadError::file(self.file, what, format!("one of: {known}")));
        }
        Ok(groups)
    }

    /// Assigns names to unnamed filters. Older versions of lm-evaluation-harness write the rows of all filters one after another. If all
    /// documents occur equally often, the k-th occurrence belongs to filter k.
    fn name_filters(&mut self) {
        let mut seen: HashMap<&str, (u32, Print)> = HashMap::new();
        let mut times = Vec::with_capacity(self.ids.len());
        for (id, print) in self.ids.iter().zip(&self.prints) {
            let (count, first) = seen.entry(id).or_insert((0, *print));
            if first.differs(print) {
                return;
            }
            times.push(*count);
            *count += 1;
        }
        let most = seen.values().map(|(count, _)| *count).max().unwrap_or(1);
        if !(2..=20).contains(&most) || seen.values().any(|(count, _)| *count != most) {
            return;
        }
        let names: Vec<String> = (1..=most).map(|k| format!("filter{k}")).collect();
        let mut ids = Names::default();
        for (id, time) in self.ids.iter().zip(&times) {
            ids.push(id, Some(&names[*time as usize]));
        }
        self.ids = ids;
        (self.filters.names, self.filter_of) = (names, times);
    }

    /// Splits rows into runs. If no identifier repeats, the file is a single run, even if its rows have different seeds.
    fn runs(&self, rows: Vec<u32>) -> Result<Vec<Results>, ReadError> {
        let mut by_run: Vec<Vec<u32>> = vec![Vec::new(); self.runs.names.len().min(MOST_NAMES)];
        let alone = by_run.len() == 1 || self.runs.names.len() > MOST_NAMES;
        if !alone {
            let mut seen = std::collections::HashSet::with_capacity(rows.len());
            if rows.iter().any(|row| !seen.insert(self.ids.get(*row as usize))) {
                rows.iter().for_each(|row| by_run[self.run_of[*row as usize] as usize].push(*row));
                let filled = by_run.into_iter().filter(|rows| !rows.is_empty());
                return filled.map(|rows| self.part(&rows)).collect();
            }
        }
        Ok(vec![self.part(&rows)?])
    }

    fn part(&self, rows: &[u32]) -> Result<Results, ReadError> {
        let all = rows.len() == self.ids.len();
        let pick = |names: &Names| {
            let mut picked = Names::default();
            rows.iter().for_each(|row| picked.push(names.get(*row as usize).unwrap_or_default(), None));
            picked
        };
        let ids = if all { self.ids.clone() } else { pick(&self.ids) };
        let places = Places::of(&ids).map_err(|place| {
            let shown = base::text::shortened(ids.get(place).unwrap_or_default(), 60);
            let line = self.lines[rows[place] as usize];
            self.error(line, format!("the identifier `{shown}` occurs twice"), "each item once")
        })?;
        let values = |c: &Column| rows.iter().map(|row| c.values[*row as usize]).collect();
        Ok(Results {
            file: self.file.to_owned(),
            places,
            ids,
            metrics: self.columns.iter().map(|c| Metric { name: c.name.clone(), values: values(c) }).collect(),
            clusters: (self.clustered > 0).then(|| pick(&self.clusters)),
            prints: rows.iter().map(|row| self.prints[*row as usize]).collect(),
            details: match self.wanted.detail {
                true => rows.iter().map(|row| self.details[*row as usize].clone()).collect(),
                false => Vec::new(),
            },
        })
    }
}
