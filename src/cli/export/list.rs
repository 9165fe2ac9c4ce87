//! `probity export SESSION --list`.

use std::io::Write;

use super::super::error::CliError;
use super::super::output;
use base::text::printable;
use engine::board::Board;
use labs::Details;

/// Returns the caption up to the first full stop that precedes a capital letter; what follows are notes.
fn first_sentence(caption: &str) -> &str {
    let ends = caption.match_indices(". ").find(|(at, _)| caption[at + 2..].starts_with(char::is_uppercase));
    ends.map_or(caption, |(at, _)| &caption[..=at])
}

pub(super) fn print(board: &Board, out: &mut dyn Write) -> Result<(), CliError> {
    for run in board.runs.iter().filter(|run| !run.gone) {
        let lab = labs::by_id(run.job.spec.lab());
        output::line(out, &format!("{} ({})", lab.title(), lab.id()))?;
        let drawn = |name: &str| lab.figure(name, &Details::default(), &run.results, board.engine.as_ref()).is_ok();
        for entry in lab.figure_entries().iter().filter(|entry| drawn(entry.name)) {
            output::line(out, &format!("  --figure {:<24} {}", entry.name, entry.shows))?;
        }
        for table in lab.tables(&run.results) {
            let line = format!("  --table  {:<24} {}", table.name, first_sentence(&table.caption));
            output::line(out, &printable(&line))?;
        }
    }
    if board.runs.is_empty() {
        output::line(out, "this session contains no runs")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the description of the table `optimum` used to include its notes.
    #[test]
    fn tables_are_listed_with_first_caption_sentence() {
        let caption = "R at the best strength; Table 3 of Canby et al. Held out: on one half. Two definitions";
        assert_eq!(first_sentence(caption), "R at the best strength; Table 3 of Canby et al.");
        assert_eq!(first_sentence("Accuracy of the probes, v. 2"), "Accuracy of the probes, v. 2");
    }
}
