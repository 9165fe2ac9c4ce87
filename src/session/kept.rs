//! The lines of a session on which the board at some time depends.

use std::collections::HashMap;

use super::glance::LineKind;
use super::identity::identity_in;
use super::stream::Spot;
use super::threads::map;
use engine::board::over;
use engine::message::Generation;

/// The lines that matter, grouped by the events that supersede them.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Lines that are never superseded.
    lasting: Vec<Spot>,
    runs: Vec<Results>,
    /// Generation of the latest run, and the index of the first run with each generation, as in a board.
    generation: Generation,
    places: HashMap<Generation, usize>,
}

#[derive(Debug, Default)]
struct Results {
    /// Findings, each with a flag: true if the finding stays when the run's results are dropped.
    findings: Vec<(Spot, bool)>,
    /// The latest progress and the one before it, in case the latest line is damaged; likewise for answers.
    progress: [Option<Spot>; 2],
    answer: Option<(u64, Spot)>,
    earlier: Option<Spot>,
    held: usize,
    gone: bool,
}

impl Kept {
    pub(super) fn add(&mut self, what: LineKind, spot: Spot) {
        let current = self.places.get(&self.generation).copied();
        match what {
            LineKind::Run(generation) => {
                for at in over(self.runs.iter().map(|run| run.held)) {
                    let Results { progress, findings, .. } = std::mem::take(&mut self.runs[at]);
                    self.runs[at] = Results { gone: true, progress, ..Results::default() };
                    self.lasting.extend(findings.into_iter().filter(|(_, lasting)| *lasting).map(|(spot, _)| spot));
                }
                self.places.entry(generation).or_insert(self.runs.len());
                self.generation = generation;
                self.runs.push(Results::default());
                self.lasting.push(spot);
            }
            LineKind::Progress(generation) if generation == self.generation && current.is_some() => {
                let run = current.map(|at| &mut self.runs[at]);
                run.into_iter().for_each(|run| run.progress = [run.progress[1], Some(spot)]);
            }
            LineKind::Finding { generation, is_final, lasting } if generation == self.generation => {
                if let Some(run) = current.map(|at| &mut self.runs[at]) {
                    run.held += usize::from(is_final);
                    run.findings.push((spot, lasting));
                }
            }
            LineKind::Answer { generation, ticket } => {
                let run = self.places.get(&generation).map(|at| &mut self.runs[*at]).filter(|run| !run.gone);
                match run.map(|run| (run.answer, run)) {
                    // A board counts a stale answer only if it has received the previous answer.
                    Some((Some((latest, before)), _)) if ticket < latest => self.lasting.extend([before, spot]),
                    Some((before, run)) => {
                        run.earlier = before.map(|(_, spot)| spot);
                        run.answer = Some((ticket, spot));
                    }
                    None => self.lasting.push(spot),
                }
            }
            LineKind::Progress(_) | LineKind::Finding { .. } | LineKind::Other => self.lasting.push(spot),
        }
    }

    /// Indices of the runs whose results the board has dropped.
    pub(super) fn gone(&self) -> Vec<usize> {
        self.runs.iter().enumerate().filter(|(_, run)| run.gone).map(|(at, _)| at).collect()
    }

    /// The places of all lines that are not superseded, in the order in which they are folded. `line` reads a line.
    pub(super) fn places(&self, line: impl Fn(Spot) -> Option<Vec<u8>> + Sync) -> Vec<Spot> {
        let mut all: Vec<(u64, Spot)> = self.lasting.iter().map(|spot| (spot.0, *spot)).collect();
        for run in &self.runs {
            let identities = map(&run.findings, |(spot, _)| identity_in(&line(*spot)?));
            all.extend(latest(&run.findings, identities));
            let rest = run.progress.into_iter().chain([run.earlier, run.answer.map(|(_, spot)| spot)]);
            all.extend(rest.flatten().map(|spot| (spot.0, spot)));
        }
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|(_, spot)| spot).collect()
    }
}

/// Drops the provisional findings of a run that later ones replace, unless they stay. The later one takes the place of the earlier one, as on
/// a board. `identities` are those of the lines' findings, if they have one, each with true if the finding is final.
fn latest(findings: &[(Spot, bool)], identities: Vec<Option<(String, bool)>>) -> Vec<(u64, Spot)> {
    let mut kept: Vec<(u64, Spot)> = Vec::with_capacity(findings.len());
    let mut provisional = HashMap::new();
    for (&(spot, lasting), identity) in findings.iter().zip(identities) {
        let Some((identity, is_final)) = identity else {
            kept.push((spot.0, spot));
            continue;
        };
        // A board lists comparisons by their arrival, but puts a final finding in the place of its provisional one. Both lines are kept, so
        // that both orders are restored.
        let replaced = provisional.remove(&identity).filter(|_| !lasting);
        let index = replaced.unwrap_or(kept.len());
        match kept.get_mut(index) {
            Some((_, old)) => *old = spot,
            None => kept.push((spot.0, spot)),
        }
        if !is_final && !lasting {
            provisional.insert(identity, index);
        }
    }
    kept
}
