//! The card of a built-in model: its training and its scores, as `card.json` and as text.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::bars;
use super::seeds::SeedScores;
use super::spread;
use corpus::Frequencies;
use pretraining::mixture::Mixture;
use pretraining::recall::RelationRecall;
use pretraining::recipe::Objective;
use pretraining::score::Score;
use pretraining::splits::Judgement;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    pub name: String,
    /// `model_type` of the configuration.
    pub family: String,
    /// Version of the program that trained the model.
    pub version: String,
    /// Seed for initial weights, text, masking and order.
    pub seed: u64,
    pub objective: Objective,
    pub shape: Shape,
    pub tokenizer: TokenizerCard,
    pub corpus: CorpusCard,
    pub training: TrainingCard,
    /// The half of the test material used for the scores.
    pub judgement: Judgement,
    /// Scores of the weights in their stored precision (f16). Grammar is scored on sentences that do not occur in training. Facts are
    /// scored in trained or untrained phrasings; each score states which.
    pub scores: Vec<Score>,
    /// Recall of each relation by prompt, with the prompts' weights in training.
    pub facts: Vec<RelationRecall>,
    /// Confidence level of the scores' intervals.
    pub level: f64,
    /// Caveats for the reader.
    pub notes: Vec<String>,
    /// The same scores for each training seed, including this card's; empty if the model was trained from one seed only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<SeedScores>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    pub layers: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    pub heads: usize,
    pub parameters: usize,
    /// Bytes of `model.safetensors`.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenizerCard {
    /// `WordPiece` or `byte-level BPE`.
    pub kind: String,
    pub entries: usize,
}

/// The training text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorpusCard {
    pub constructions: Vec<String>,
    /// Number of sentences, each used once.
    pub sentences: usize,
    /// Number of tokens, including special tokens.
    pub tokens: usize,
    /// SHA-256 of the sentences in the order of generation, each followed by a line feed.
    pub hash: String,
    /// Frequency of each combination of subject number (rows Sg, Pl) and attractor number (columns none, Sg, Pl) in agreement sentences,
    /// as proportions.
    pub frequencies: Frequencies,
    /// Everything that determined which sentences were generated, and how often.
    pub mixture: Mixture,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingCard {
    pub steps: usize,
    /// Sentences per step.
    pub batch: usize,
    /// Peak learning rate.
    pub rate: f64,
    /// Proportion of the steps over which the rate rises.
    pub(crate) warm_up: f64,
    /// Wall-clock time in seconds, without scoring.
    pub seconds: f64,
    pub threads: usize,
    /// Training loss by step: mean cross entropy in nats since the previous point.
    pub loss: Vec<(usize, f64)>,
}

impl Card {
    pub fn score(&self, id: &str) -> Option<&Score> {
        self.scores.iter().find(|s| s.id == id)
    }
}

/// Scores for facts, grouped.
const GROUPS: [(&str, &[&str]); 5] = [
    ("by prompt", &["p1_best", "p1_trained", "p1_held", "p1_worst", "p1_gap"]),
    ("share of the gap due to prompt preference", &["p1_gap_same", "p1_gap_chance", "preference", "p1_lowest"]),
    ("beyond the training text", &["p1_kept", "p1_new_names", "p1_never", "p1_commonest"]),
    ("by name", &["stability", "stability_unseen"]),
    ("by the sentence that the encoder reads", &["encoder_own", "encoder_swapped", "encoder_followed", "encoder_drop"]),
];

/// The group of a score for facts. Trained phrasings show recall, not generalisation.
fn group(score: &Score) -> Option<usize> {
    GROUPS.iter().position(|(_, ids)| ids.contains(&score.id.as_str()))
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, c, t) = (&self.shape, &self.corpus, &self.training);
        writeln!(
            f,
            "{} ({}, trained by probity {}, seed {}), {}",
            self.name,
            self.family,
            self.version,
            self.seed,
            self.judgement.title()
        )?;
        writeln!(
            f,
            "\nshape      {} layers, width {}, {} heads, {} parameters, {:.1} MB (f16)",
            s.layers,
            s.hidden,
            s.heads,
            s.parameters,
            s.bytes as f64 / 1e6
        )?;
        writeln!(f, "tokenizer  {}, {} entries", self.tokenizer.kind, self.tokenizer.entries)?;
        writeln!(
            f,
            "corpus     Micro-English ({}): {} sentences, {} tokens, sha256 {}",
            c.constructions.join(", "),
            c.sentences,
            c.tokens,
            c.hash.get(..16).unwrap_or(&c.hash)
        )?;
        write_mixture(&c.mixture, f)?;
        writeln!(f, "           agreement, shares in %  no attractor    Sg    Pl")?;
        for (name, row) in ["Sg", "Pl"].iter().zip(c.frequencies.cells()) {
            let [none, sg, pl] = row.map(|x| 100.0 * x);
            writeln!(f, "             {name} subject         {none:12.1} {sg:6.1} {pl:5.1}")?;
        }
        writeln!(
            f,
            "training   {} steps of {} sentences, AdamW, peak rate {}, warm-up {:.0} %, {:.0} s on {} threads",
            t.steps,
            t.batch,
            t.rate,
            100.0 * t.warm_up,
            t.seconds,
            t.threads
        )?;
        let points: Vec<String> = t.loss.iter().map(|(step, loss)| format!("{step}: {loss:.3}")).collect();
        for (i, line) in points.chunks(6).enumerate() {
            writeln!(f, "{}  {}", if i == 0 { "loss     " } else { "         " }, line.join("  "))?;
        }
        let level = 100.0 * self.level;
        let grammar = self.scores.iter().filter(|s| group(s).is_none());
        writeln!(
            f,
            "\nmeasured on sentences that were never trained on, unless a line says otherwise, with {level:.0} % Wilson \
             intervals:"
        )?;
        grammar.into_iter().try_for_each(|score| writeln!(f, "  {score}"))?;
        self.write_groups(f)?;
        if bars::apply_to(self) {
            writeln!(f, "\ntargets for a mini model:")?;
            bars::verdicts(self).iter().try_for_each(|v| writeln!(f, "  {v}"))?;
        }
        spread::write(self, f)?;
        write_facts(&self.facts, f)?;
        if !self.notes.is_empty() {
            writeln!(f)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "- {note}"))
    }
}

impl Card {
    fn write_groups(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scores.iter().all(|s| group(s).is_none()) {
            return Ok(());
        }
        let n = |id: &str| self.score(id).map_or(0, |s| s.n);
        let (trained, all) = (n("p1_trained"), n("p1_trained") + n("p1_held"));
        writeln!(
            f,
            "\nmeasured on trained facts, unless a line says otherwise; {trained} of {all} phrasings ({:.0} %) of \
             the best prompts were trained word for word:",
            100.0 * trained as f64 / all.max(1) as f64
        )?;
        for (g, (title, _)) in GROUPS.iter().enumerate() {
            let mut scores = self.scores.iter().filter(|s| group(s) == Some(g)).peekable();
            if scores.peek().is_some() {
                writeln!(f, "  {title}")?;
            }
            scores.try_for_each(|score| writeln!(f, "    {score}"))?;
        }
        Ok(())
    }
}

/// Writes the sampling weights in %. These weights are the known causes of prompt preferences.
fn write_mixture(m: &Mixture, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let percent = |x: f64| format!("{}", (1e4 * x).round() / 100.0);
    let list = |weights: &[f64]| weights.iter().map(|&w| percent(w)).collect::<Vec<_>>().join(" ");
    let uses: Vec<&str> = m.uses.iter().map(|l| l.title()).collect();
    write!(f, "           {} % facts ({}), ", percent(m.facts), uses.join(", "))?;
    if m.rationales > 0.0 {
        write!(f, "{} % constructions of the rationale benchmark, ", percent(m.rationales))?;
    }
    writeln!(f, "the rest in %:")?;
    let shares: Vec<String> =
        m.constructions.iter().map(|(c, share)| format!("{} {}", c.title(), percent(*share))).collect();
    writeln!(f, "             {}", shares.join(", "))?;
    if let Some(p) = m.preference {
        let (most, least) = (percent(p.most), percent(p.least));
        writeln!(
            f,
            "           open prompts of a relation: log-normal weights from {most} down to {least}, drawn for {} and \
             then scaled to a sum of 100; held-out prompts are never written",
            p.family.name()
        )?;
    }
    writeln!(
        f,
        "           weights of a subject's names: {}; {} % of the other names and {} % of the phrasings are never \
         written",
        list(&m.names),
        percent(m.unseen_names),
        percent(m.held)
    )
}

/// Writes one line per relation: P@1 in % by prompt, with the prompt's weight.
fn write_facts(facts: &[RelationRecall], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if facts.is_empty() {
        return Ok(());
    }
    writeln!(
        f,
        "\nP@1 in % by relation and prompt, with usual names; in brackets, the prompt's training weight in % (0 if \
         held out); n: number of facts:"
    )?;
    for r in facts {
        let n = r.prompts.first().map_or(0, |p| p.all().n);
        let cells: Vec<String> = r
            .prompts
            .iter()
            .map(|p| {
                let weight = p.weight.map_or(String::new(), |w| format!(" ({:.1})", 100.0 * w));
                format!("{:5.1}{weight:<7}", 100.0 * p.all().share())
            })
            .collect();
        writeln!(f, "  {:<22} n {n:<3}  {}", r.id, cells.join(" "))?;
    }
    Ok(())
}
