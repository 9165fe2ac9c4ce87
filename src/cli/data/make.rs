//! `probity data make`: writes built-in sets to files.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use super::{object, say, vocabularies};
use crate::error::CliError;
use crate::output;
use base::files::Whole;
use base::suggest;
use base::text::printable_label;
use corpus::doctor::{Doctor, Survey};
use corpus::make::{Layout, Line, MakeError, layouts, lines};
use corpus::readers::Set;
use corpus::sets::{BuiltIn, built_in};

#[derive(Debug, Args)]
pub struct MakeArgs {
    /// Name of a built-in set; `probity data list` names them.
    set: String,
    /// Number of sentences, facts, or originals of the rationale benchmark [default: 12000 if any number can be drawn, otherwise all].
    #[arg(short, long = "examples", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=2_000_000))]
    n: Option<u64>,
    /// The seed for everything that is drawn at random.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// File to write [default: standard output].
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Replace a file that already exists.
    #[arg(long, requires = "out")]
    force: bool,
    /// Format: plain, senteval (probing tasks), rationale, lama (facts) [default: the set's own].
    #[arg(long)]
    format: Option<String>,
    /// Leave out the rows that `doctor` drops.
    #[arg(long)]
    clean: bool,
    /// With --clean: model whose vocabulary is used; may be given several times.
    #[arg(long, requires = "clean")]
    model: Vec<String>,
}

pub(crate) fn listed() -> impl Iterator<Item = (BuiltIn, Vec<&'static str>)> {
    built_in().map(|set| (set, layouts(&set).iter().map(|l| l.id()).collect()))
}

/// Fails with [`CliError::Usage`] for an unusable name or number or an existing file, [`CliError::Failed`] if the file cannot be written.
pub(crate) fn make(args: &MakeArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let set = BuiltIn::named(&args.set).ok_or_else(|| {
        let known: Vec<&str> = built_in().map(|b| b.id).collect();
        CliError::Usage(suggest::unknown("built-in set", &args.set, &known))
    })?;
    let layout = layout(&set, args.format.as_deref())?;
    let to = args.out.as_deref().map(|path| Whole::new(path, args.force).map(|to| (path, to))).transpose()?;
    let n = args.n.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let mut lines = lines(&set, layout, n, args.seed).map_err(|e: MakeError| CliError::Usage(e.to_string()))?;
    let all = lines.len();
    if args.clean {
        keep_fit(&set, &mut lines, &args.model)?;
    }
    let Some((path, mut to)) = to else { return write(&lines, out, super::STDOUT) };
    write(&lines, to.file(), &path.display().to_string())?;
    to.place()?;
    let unfit = if args.clean { format!(", {} unfit rows left out", all - lines.len()) } else { String::new() };
    let format = layout.id();
    output::say(&printable_label(&format!("{} rows written as {format}, seed {}{unfit}", lines.len(), args.seed)));
    let shown = path.display();
    let next = match set.task() {
        Some(task) => format!("to use it, set name = \"{}\" and data = \"{shown}\" under [task] in a spec", task.id),
        None => format!("`probity data show {shown}` reads it"),
    };
    output::say(&printable_label(&next));
    Ok(())
}

fn layout(set: &BuiltIn, name: Option<&str>) -> Result<Layout, CliError> {
    let layouts = layouts(set);
    let Some(name) = name else { return Ok(layouts[0]) };
    layouts.iter().copied().find(|l| l.id() == name).ok_or_else(|| {
        let known: Vec<&str> = layouts.iter().map(|l| l.id()).collect();
        CliError::Usage(suggest::unknown(&format!("format of `{}`", set.id), name, &known))
    })
}

/// Keeps only the rows that the doctor accepts.
fn keep_fit(set: &BuiltIn, lines: &mut Vec<Line>, models: &[String]) -> Result<(), CliError> {
    let (root, title) = (PathBuf::from(set.id), set.title.to_owned());
    let set = Set { root, title, files: Vec::new(), left_out: Vec::new() };
    let mut survey = Survey::default();
    lines.iter().zip(1..).for_each(|(l, line)| survey.add(0, &l.row, line));
    let mut doctor = Doctor::new(&set, vocabularies(models)?, 0).knowing(survey);
    let mut line = 0;
    lines.retain(|l| {
        line += 1;
        doctor.examine(0, &l.row, line)
    });
    if lines.is_empty() {
        let what = "no row can be used: each contains a word that is not a single token in these models";
        return Err(CliError::Usage(what.to_owned()));
    }
    Ok(())
}

fn write(lines: &[Line], out: &mut dyn Write, place: &str) -> Result<(), CliError> {
    let mut out = BufWriter::new(out);
    let done = lines.iter().try_for_each(|l| writeln!(out, "{}", l.text)).and_then(|()| out.flush());
    done.map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => CliError::Closed,
        _ => CliError::Failed(format!("cannot write {place}: {e}")),
    })
}

pub(crate) fn list(as_json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    use serde_json::json;

    use corpus::readers::FORMATS;

    if as_json {
        let sets: Vec<_> =
            listed().map(|(s, formats)| json!({"id": s.id, "title": s.title, "formats": formats})).collect();
        let formats: Vec<_> =
            FORMATS.iter().map(|f| json!({"id": f.id, "title": f.title, "columns": f.columns})).collect();
        return object(out, &json!({"sets": sets, "formats": formats}));
    }
    output::line(out, "built in")?;
    for (set, formats) in listed() {
        let size = set.fixed_rows().map_or("any size".to_owned(), |n| format!("{n} rows"));
        say(out, &format!("  {:<22} {}; {size}; as {}", set.id, set.title, formats.join(" or ")))?;
    }
    output::line(
        out,
        "  `probity data make NAME -n 1200 -o FILE` writes one to a file; `probity data show FILE` reads it",
    )?;
    output::line(out, "formats, recognised by content (plain or .gz)")?;
    for format in FORMATS {
        say(out, &format!("  {:<22} {}", format.id, format.title))?;
        say(out, &format!("  {:<22}   {}", "", format.columns.join(", ")))?;
    }
    output::line(out, "also folders of these: LAMA, ParaRel, BEAR, ERASER")?;
    output::line(out, "to use agreement sentences in any of these formats, set data = \"FILE\" under [task] of a spec")
}
