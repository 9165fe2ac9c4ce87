//! `probity gallery judge`: scores of models trained from several seeds, and their ranges.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::print;
use crate::error::CliError;
use crate::output;
use base::text::shortened;
use gallery::spread::{self, BarSpread, Spread};
use gallery::{Card, seeds};
use pretraining::RECIPES;

/// Print minimum, median and maximum of every score over the seeds of each model, or write them to its card.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity gallery judge gallery-seeds
  probity gallery judge gallery-seeds --json
  probity gallery judge gallery-seeds --into assets/models")]
pub(crate) struct JudgeArgs {
    /// The folder that `probity gallery train --all` writes.
    dir: PathBuf,
    /// Write the scores of all seeds to the cards CARDDIR/NAME/card.json, in addition to existing ones.
    #[arg(long, value_name = "CARDDIR")]
    into: Option<PathBuf>,
    /// With --into: replace the numbers of a seed that is already on the card if they differ.
    #[arg(long, requires = "into")]
    replace: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Judged<'a> {
    name: &'a str,
    seeds: Vec<u64>,
    level: f64,
    steps: usize,
    scores: Vec<Spread>,
    bars: Vec<BarSpread>,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    models: Vec<Judged<'a>>,
}

/// Prints the scores of all seeds and, if requested, writes either all cards or none.
///
/// # Errors
/// [`CliError::Usage`] for seeds that cannot be combined, with the file and a remedy.
pub(crate) fn judge(args: &JudgeArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let mut models: Vec<Card> = Vec::new();
    let mut changed = Vec::new();
    for recipe in RECIPES {
        let cards = seeds::cards(&args.dir, recipe.name)?;
        let Some(card) = seeds::together(&cards) else { continue };
        match &args.into {
            None => models.push(card),
            Some(home) => {
                let path = home.join(recipe.name).join("card.json");
                let card = seeds::merged(&path, recipe.name, &cards, args.replace)?;
                models.push(card.clone());
                changed.push((path, card));
            }
        }
    }
    if models.is_empty() {
        return Err(CliError::Usage(format!(
            "{}: contains no models; `probity gallery train --all --out DIR` writes DIR/NAME/seed-S for every NAME of the gallery",
            args.dir.display()
        )));
    }
    for (path, card) in &changed {
        gallery::write(path, card)?;
    }
    if args.json {
        return output::json(out, &Answer { models: models.iter().map(judged).collect() });
    }
    for card in &models {
        print(&text(card), out)?;
    }
    for (path, card) in &changed {
        print(&format!("{}: {} on {}", card.name, spread::title(card), output::full(path)), out)?;
    }
    Ok(())
}

fn judged(card: &Card) -> Judged<'_> {
    Judged {
        name: &card.name,
        seeds: spread::known(card).iter().map(|s| s.seed).collect(),
        level: card.level,
        steps: card.training.steps,
        scores: spread::spreads(card),
        bars: spread::bar_spreads(card),
    }
}

/// Formats a model's table and the meaning of each score, and notes if the training differed from this program's settings.
fn text(card: &Card) -> String {
    let mut lines =
        vec![format!("{}: {}, in %, with {:.0} % intervals", card.name, spread::title(card), 100.0 * card.level)];
    let usual = RECIPES.iter().find(|r| r.name == card.name).map_or(0, |r| r.steps);
    if usual != card.training.steps {
        lines.push(format!("  note: trained for {} steps instead of the usual {usual}", card.training.steps));
    }
    lines.extend(spread::lines(card));
    lines.push("  where".to_owned());
    lines.extend(card.scores.iter().map(|s| format!("  {:<20} {}", shortened(&s.id, 20), s.what)));
    lines.join("\n") + "\n\n"
}
