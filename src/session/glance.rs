//! Classifies a line by its first bytes, without parsing it, to find out whether a later line replaces it.

use std::sync::LazyLock;

use engine::message::Generation;
use labs::LABS;
use memchr::memmem::Finder;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Run(Generation),
    Progress(Generation),
    Finding {
        generation: Generation,
        is_final: bool,
        /// True if the finding matters beyond the results of its run: a comparison, or the end of the run.
        lasting: bool,
    },
    /// An answer about an experiment.
    Answer {
        generation: Generation,
        ticket: u64,
    },
    /// Any other line, or one that no recorder wrote; it must be parsed.
    Other,
}

/// Number of bytes searched for the kind of a finding.
const HEAD: usize = 2048;

/// Keys of a finding. Its text cannot contain these bytes, because JSON escapes quotation marks.
static FINAL: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(r#","final":"#));
static KIND: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(r#","kind":""#));

/// The time of a line in a recorder's format.
pub(super) fn time(line: &[u8]) -> Option<f64> {
    let rest = line.strip_prefix(br#"{"t":"#)?;
    let end = rest.iter().take(32).position(|b| *b == b',')?;
    let t: f64 = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    (0.0..=super::format::MAX_TIME).contains(&t).then_some(t)
}

/// The time, generation and JSON of a finding in a recorder's format.
pub(super) fn finding_of(line: &[u8]) -> Option<(f64, Generation, &[u8])> {
    let t = time(line)?;
    let rest = &line[line.iter().position(|b| *b == b',')?..];
    let (generation, rest) = number(rest.strip_prefix(br#","event":"finding","generation":"#)?)?;
    let finding = rest.strip_prefix(br#","finding":"#)?.trim_ascii_end().strip_suffix(b"}")?;
    Some((t, generation, finding))
}

/// The kind of a line in a recorder's format.
pub(super) fn glance(line: &[u8]) -> LineKind {
    named(line).unwrap_or(LineKind::Other)
}

fn named(line: &[u8]) -> Option<LineKind> {
    let rest = line.strip_prefix(br#"{"t":"#)?;
    let rest = &rest[rest.iter().take(32).position(|b| *b == b',')? + 1..];
    if let Some(rest) = rest.strip_prefix(br#""command":"run","job":"#) {
        let (_, rest) = number(rest)?;
        return Some(LineKind::Run(number(rest.strip_prefix(br#","generation":"#)?)?.0));
    }
    if let Some(rest) = rest.strip_prefix(br#""event":"progress","generation":"#) {
        return Some(LineKind::Progress(number(rest)?.0));
    }
    if let Some(rest) = rest.strip_prefix(br#""event":"answer","ticket":"#) {
        let (ticket, rest) = number(rest)?;
        let rest = rest.strip_prefix(br#","answer":{"about":"experiment","generation":"#)?;
        return Some(LineKind::Answer { generation: number(rest)?.0, ticket });
    }
    let (generation, rest) = number(rest.strip_prefix(br#""event":"finding","generation":"#)?)?;
    let head = &rest[..rest.len().min(HEAD)];
    let head = &head[FINAL.find(head)? + FINAL.needle().len()..];
    let is_final = head.starts_with(b"true");
    let head = &head[KIND.find(head)? + KIND.needle().len()..];
    let kind = head.split(|b| *b == b'"').next().and_then(|k| std::str::from_utf8(k).ok())?;
    let lasting = matches!(kind, "summary" | "error") || LABS.iter().any(|lab| lab.compares(kind, is_final));
    Some(LineKind::Finding { generation, is_final, lasting })
}

/// Splits off the digits at the beginning.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(20).position(|b| !b.is_ascii_digit())?;
    let number = std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()?;
    Some((number, &bytes[end..]))
}
