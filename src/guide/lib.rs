//! The guide: one page per topic, published on the web and shown by `probity guide` and the program's help.
//! `<!-- table: NAME -->` and `<!-- end -->` mark tables that the program generates from its own declarations.

use base::suggest;

const TABLE: &str = "<!-- table: ";
const END: &str = "<!-- end -->";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The file's name without its extension, and the argument of `probity guide`.
    pub name: &'static str,
    pub text: &'static str,
}

/// All pages: `start` first, the others by name.
pub static PAGES: &[Page] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

impl Page {
    pub fn title(&self) -> &'static str {
        self.text.lines().find_map(|l| l.strip_prefix("# ")).unwrap_or(self.name)
    }

    /// The question that the page answers: its first line after the heading.
    pub fn question(&self) -> &'static str {
        self.text.lines().skip_while(|l| !l.starts_with("# ")).skip(1).find(|l| !l.is_empty()).unwrap_or_default()
    }
}

/// Finds a page by name.
///
/// # Errors
/// A message with the closest name.
pub fn page(name: &str) -> Result<&'static Page, String> {
    PAGES.iter().find(|p| p.name == name).ok_or_else(|| {
        let names: Vec<&str> = PAGES.iter().map(|p| p.name).collect();
        suggest::unknown("guide page", name, &names)
    })
}

/// Returns the text of a page with its tables regenerated. `table` returns the Markdown of a table by name.
///
/// # Errors
/// A message that names a table that is unknown or has no end marker.
pub fn fill(text: &str, table: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(TABLE) {
        let (name, after) = after.split_once(" -->").ok_or("a table's marker does not end with ` -->`")?;
        let (_, after) = after.split_once(END).ok_or_else(|| format!("the table `{name}` has no `{END}`"))?;
        let rows = table(name).ok_or_else(|| format!("there is no table `{name}`"))?;
        filled.push_str(&format!("{before}{TABLE}{name} -->\n{rows}{END}"));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Returns the text without the markers.
pub fn readable(text: &str) -> String {
    text.lines().filter(|l| !l.starts_with("<!--")).fold(String::new(), |text, l| text + l + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_replaced_between_its_markers_and_the_rest_stays() {
        let page = "# A\n\nWhy?\n<!-- table: x -->\nold\n<!-- end -->\nmore\n";
        let filled = fill(page, |name| (name == "x").then(|| "| new |\n".into()));
        assert_eq!(filled.as_deref(), Ok("# A\n\nWhy?\n<!-- table: x -->\n| new |\n<!-- end -->\nmore\n"));
        assert_eq!(readable(page), "# A\n\nWhy?\nold\nmore\n");
        assert!(fill(page, |_| None).is_err_and(|e| e.contains("`x`")));
        assert!(fill("<!-- table: x -->\n", |_| Some(String::new())).is_err());
    }

    #[test]
    fn every_page_has_a_title_and_a_question() {
        for page in PAGES {
            assert!(page.text.starts_with("# "), "{}", page.name);
            assert!(page.question().len() > 10, "{}", page.name);
        }
        assert!(page("strat").is_err_and(|e| e.contains("start")));
    }
}
