//! Forecast of a run in bytes and seconds. A lab counts its units of work by kind. The host times one unit of each kind on a slice of real
//! work and multiplies it by the counts.

use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::host::Host;
use base::size::show;
use base::{Problem, numbers};
use model::{Model, ModelError};

/// Does a piece of real work and returns the number of units done.
pub type Slice<'a> = &'a mut dyn FnMut() -> Result<f64, Fault>;

/// Number of units of work of each kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    units: Vec<(String, f64)>,
}

impl Work {
    pub fn add(&mut self, kind: &str, units: f64) {
        match self.units.iter_mut().find(|(k, _)| k == kind) {
            Some((_, sum)) => *sum += units,
            None => self.units.push((kind.to_owned(), units)),
        }
    }

    pub fn of(&self, kind: &str) -> f64 {
        self.units.iter().find(|(k, _)| k == kind).map_or(0.0, |(_, units)| *units)
    }

    /// Total time in seconds. `slice` does a piece of work of the given kind; kinds without units are not measured.
    pub fn seconds(
        &self,
        host: &mut dyn Host,
        slice: &mut dyn FnMut(&str) -> Result<f64, Fault>,
    ) -> Result<f64, Fault> {
        let mut sum = 0.0;
        for (kind, units) in self.units.iter().filter(|(_, units)| *units > 0.0) {
            sum += units * host.rate(kind, &mut || slice(kind))?;
        }
        Ok(sum)
    }
}

/// The stages of a run with their work by kind. Forecast, progress and remaining time are computed from them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stages(Vec<(String, Work)>);

impl Stages {
    /// Returns the work of a stage; a new stage is added without work.
    pub fn at(&mut self, stage: &str) -> &mut Work {
        let at = self.0.iter().position(|(name, _)| name == stage).unwrap_or_else(|| {
            self.0.push((stage.to_owned(), Work::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Time of each stage in seconds; see [`Work::seconds`].
    pub fn seconds(
        &self,
        host: &mut dyn Host,
        slice: &mut dyn FnMut(&str) -> Result<f64, Fault>,
    ) -> Result<Seconds, Fault> {
        let each = self.0.iter().map(|(name, work)| Ok((name.clone(), work.seconds(host, slice)?)));
        each.collect::<Result<_, _>>().map(Seconds)
    }
}

/// Expected time of each stage in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seconds(Vec<(String, f64)>);

impl Seconds {
    /// Time of a stage in seconds; 0 if the run has no such stage.
    pub fn of(&self, stage: &str) -> f64 {
        self.0.iter().filter(|(name, _)| name == stage).map(|(_, seconds)| seconds).sum()
    }

    /// Total time in seconds of all stages whose names begin with `prefix`.
    pub fn total(&self, prefix: &str) -> f64 {
        self.0.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, seconds)| seconds).sum()
    }

    /// Adds the stages of `other`, each multiplied by `times`.
    pub fn add(&mut self, other: &Self, times: f64) {
        self.0.extend(other.0.iter().map(|(name, seconds)| (name.clone(), seconds * times)));
    }
}

/// Assumed words per sentence, for counting work before sentences exist.
pub const WORDS: u128 = 12;

/// Size of a network, computed from its description without loading the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub blocks: usize,
    pub width: usize,
    pub parameters: u128,
}

impl Size {
    /// Returns the size of a model by name.
    ///
    /// # Errors
    /// [`ModelError`] if its description is not available.
    pub fn of(model: &str) -> Result<Self, ModelError> {
        let arch = Model::describe(&model.parse()?)?;
        Ok(Self { blocks: arch.depth(), width: arch.hidden, parameters: arch.parameter_count() as u128 })
    }

    /// Multiply-adds per token in the first `layer` blocks.
    pub fn through(self, layer: usize) -> u128 {
        let blocks = self.blocks.max(1) as u128;
        self.parameters * (layer as u128).min(blocks) / blocks
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    pub model: String,
    /// Peak resident memory of the process, in bytes.
    pub bytes: u64,
    /// Parts of the memory, largest first.
    pub parts: Vec<MemoryPart>,
    pub seconds: f64,
    /// Minimum and maximum time in seconds, while a quantity that determines the time is still unknown; `None` once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Basis of the range, if it was estimated from a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// True if `seconds` was computed during the run, when all probes were trained.
    pub refined: bool,
    /// Number of tokens per forward pass, chosen to stay below the limit.
    pub tokens_per_batch: usize,
    /// The memory limit in bytes, if set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Fraction by which a forecast may be too low. With a memory limit, this share of it is left free.
pub const MARGIN: f64 = 0.15;

/// Refuses a run that exceeds the memory limit and states a sufficient limit. For labs with fixed batch sizes.
pub fn within_limit(forecasts: &[Forecast]) -> Result<(), Fault> {
    let Some(most) = forecasts.iter().max_by_key(|f| f.bytes) else { return Ok(()) };
    let needed = (most.bytes as f64 * (1.0 + MARGIN)) as u64;
    match most.limit {
        Some(limit) if needed > limit => Err(Fault::Failed(Problem {
            what: format!("the run needs {}; the limit is {}", show(needed), show(limit)),
            r#where: "memory limit".into(),
            // Resident memory varies by a few pages between starts.
            hint: format!("use --memory-limit {}M, or smaller models", ((needed + needed / 20) >> 20) + 1),
        })),
        _ => Ok(()),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPart {
    pub name: String,
    pub bytes: u64,
}

impl Forecast {
    /// One line such as `about 48.1 MB and 5 s`.
    pub fn summary(&self) -> String {
        let limit = self.limit.map_or(String::new(), |l| format!(" (limit {})", show(l)));
        let time = match self.range.map(|r| r.map(seconds)) {
            Some([least, most]) if least != most => format!("{least} to {most}"),
            _ => seconds(self.seconds),
        };
        format!("about {}{limit} and {time}", show(self.bytes))
    }
}

fn seconds(s: f64) -> String {
    match s {
        s if s < 0.95 => format!("{:.1} s", s.max(0.1)),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => numbers::seconds(s),
    }
}

/// Resident bytes of the process; `None` if the system does not report them.
pub fn resident() -> Option<u64> {
    status("VmRSS:")
}

/// Peak resident bytes of the process. This can exceed [`resident`] because a model's file and its parameters are both in memory while it
/// loads.
pub fn peak() -> Option<u64> {
    status("VmHWM:")
}

fn status(key: &str) -> Option<u64> {
    let status = base::read::text(std::path::Path::new("/proc/self/status"), 1 << 16).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_is_one_line() {
        let forecast = Forecast {
            model: "m".into(),
            bytes: 3 << 30,
            parts: Vec::new(),
            seconds: 61.7,
            range: None,
            because: None,
            refined: false,
            tokens_per_batch: 4096,
            limit: Some(4 << 30),
        };
        assert_eq!(forecast.summary(), "about 3.0 GB (limit 4.0 GB) and 62 s");
        assert_eq!([seconds(0.04), seconds(300.0), seconds(7200.0)], ["0.1 s", "5 min", "2 h 00 min"]);
    }

    #[test]
    fn run_above_the_limit_is_refused_with_a_sufficient_limit() {
        let forecast = |bytes: u64, limit: Option<u64>| Forecast {
            model: "m".into(),
            bytes,
            parts: Vec::new(),
            seconds: 1.0,
            range: None,
            because: None,
            refined: false,
            tokens_per_batch: 4096,
            limit,
        };
        assert!(within_limit(&[]).is_ok() && within_limit(&[forecast(1 << 40, None)]).is_ok());
        let of = |limit| within_limit(&[forecast(10 << 20, Some(limit)), forecast(100 << 20, Some(limit))]);
        let Err(Fault::Failed(problem)) = of(100 << 20) else { panic!("a run without spare memory must be refused") };
        assert!(problem.what.contains("the limit is 100.0 MB"), "{problem}");
        let enough: u64 = problem.hint.split("limit ").nth(1).unwrap().split('M').next().unwrap().parse().unwrap();
        assert!(of(enough << 20).is_ok() && of((enough * 9 / 10) << 20).is_err(), "{problem}");
    }

    #[test]
    fn work_of_the_same_kind_is_summed() {
        let mut work = Work::default();
        work.add("tokens", 3.0);
        work.add("steps", 1.0);
        work.add("tokens", 4.0);
        assert_eq!((work.of("tokens"), work.of("steps"), work.of("rows")), (7.0, 1.0, 0.0));
    }
}
