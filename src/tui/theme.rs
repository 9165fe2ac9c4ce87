//! Colours by role. Themes are files; widgets never name a colour.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;
use thiserror::Error;

use base::text::printable;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Text,
    /// Less important text: labels, units.
    Dim,
    Title,
    Border,
    /// Border of the focused pane.
    Focus,
    Selection,
    /// Keys in footer and help.
    Key,
    /// Values that the user can change.
    Value,
    /// Values that differ from the last run.
    Changed,
    Good,
    /// Condition that needs attention.
    Warning,
    Error,
    Recording,
    /// Vertical line at a chart's marker.
    Marker,
    Bar,
    Axis,
    /// Thin guide lines of a chart.
    Guide,
    Completeness,
    Selectivity,
    Reliability,
}

#[cfg(test)]
pub(crate) const ROLES: [Role; 20] = [
    Role::Text,
    Role::Dim,
    Role::Title,
    Role::Border,
    Role::Focus,
    Role::Selection,
    Role::Key,
    Role::Value,
    Role::Changed,
    Role::Good,
    Role::Warning,
    Role::Error,
    Role::Recording,
    Role::Marker,
    Role::Bar,
    Role::Axis,
    Role::Guide,
    Role::Completeness,
    Role::Selectivity,
    Role::Reliability,
];

#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub name: String,
    styles: BTreeMap<Role, Style>,
    series: Vec<Style>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ThemeError {
    #[error("theme {name}: {message}")]
    Parse { name: String, message: String },
    #[error("there is no theme `{name}`; known are {known}")]
    Unknown {
        name: String,
        /// Comma-separated names of the shipped themes.
        known: String,
    },
}

/// Shipped themes, default first.
const SHIPPED: [(&str, &str); 4] = [
    ("dark", include_str!("../../assets/themes/dark.toml")),
    ("light", include_str!("../../assets/themes/light.toml")),
    ("colourblind", include_str!("../../assets/themes/colourblind.toml")),
    ("mono", include_str!("../../assets/themes/mono.toml")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    role: BTreeMap<Role, Look>,
    series: Vec<Look>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Look {
    fg: Option<String>,
    bg: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    reverse: bool,
}

impl Look {
    fn style(&self) -> Result<Style, String> {
        let colour = |text: &Option<String>| -> Result<Option<Color>, String> {
            let parse = |t: &String| t.parse().map_err(|_| format!("`{}` is not a colour", printable(t)));
            text.as_ref().map(parse).transpose()
        };
        let mut style = Style { fg: colour(&self.fg)?, bg: colour(&self.bg)?, ..Style::default() };
        for (on, modifier) in [
            (self.bold, Modifier::BOLD),
            (self.dim, Modifier::DIM),
            (self.italic, Modifier::ITALIC),
            (self.underline, Modifier::UNDERLINED),
            (self.reverse, Modifier::REVERSED),
        ] {
            if on {
                style = style.add_modifier(modifier);
            }
        }
        Ok(style)
    }
}

impl Theme {
    /// Parses a theme file; omitted roles look like ordinary text.
    ///
    /// # Errors
    /// [`ThemeError::Parse`] for invalid TOML, an unknown role or key, an invalid colour, or no series.
    pub fn parse(name: &str, text: &str) -> Result<Self, ThemeError> {
        let bad = |message: String| ThemeError::Parse { name: printable(name).into_owned(), message };
        let file: File = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(0, |s| 1 + text[..s.start.min(text.len())].matches('\n').count());
            bad(format!("line {line}: {}", printable(e.message().trim())))
        })?;
        if file.series.is_empty() {
            return Err(bad("contains no [[series]]".into()));
        }
        let styles = file.role.iter().map(|(role, look)| Ok((*role, look.style()?))).collect::<Result<_, String>>();
        let series = file.series.iter().map(Look::style).collect::<Result<_, String>>();
        Ok(Self { name: name.to_owned(), styles: styles.map_err(bad)?, series: series.map_err(bad)? })
    }

    /// The shipped themes, default first.
    pub fn shipped() -> Vec<Self> {
        let parse = |(name, text): (&str, &str)| Self::parse(name, text).ok();
        SHIPPED.into_iter().filter_map(parse).collect()
    }

    /// The themes to cycle through, starting with the wanted one; only the colourless theme if `NO_COLOR` is set and not empty.
    ///
    /// # Errors
    /// [`ThemeError::Unknown`] if no theme has the wanted name.
    pub fn choose(wanted: Option<&str>, surroundings: &Surroundings) -> Result<Vec<Self>, ThemeError> {
        let mut themes = Self::shipped();
        if surroundings.no_color {
            themes.retain(|t| t.name == "mono");
            return Ok(themes);
        }
        let name = wanted.unwrap_or(if surroundings.light { "light" } else { "dark" });
        let at = themes.iter().position(|t| t.name == name).ok_or_else(|| ThemeError::Unknown {
            name: printable(name).into_owned(),
            known: SHIPPED.map(|(name, _)| name).join(", "),
        })?;
        themes.rotate_left(at);
        Ok(themes)
    }

    pub fn style(&self, role: Role) -> Style {
        self.styles.get(&role).copied().unwrap_or_default()
    }

    /// Style of a series by the index of its colour; the colours repeat after the last one.
    pub fn series(&self, colour: usize) -> Style {
        self.series.get(colour % self.series.len().max(1)).copied().unwrap_or_default()
    }
}

/// Environment that affects colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// True if `NO_COLOR` is set and not empty.
    pub no_color: bool,
    /// True if the terminal reports a light background.
    pub light: bool,
}

impl Surroundings {
    /// Reads `NO_COLOR` and `COLORFGBG` through a lookup function.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        // COLORFGBG is `foreground;background` in ANSI colour numbers; 7 and 9 to 15 are light.
        let background = variable("COLORFGBG").and_then(|v| v.rsplit(';').next()?.parse::<u8>().ok());
        Self {
            no_color: variable("NO_COLOR").is_some_and(|v| !v.is_empty()),
            light: matches!(background, Some(7 | 9..=15)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_theme_parses_and_styles_every_role() {
        assert_eq!(Theme::shipped().len(), SHIPPED.len());
        for (name, text) in SHIPPED {
            let theme = Theme::parse(name, text).unwrap();
            for role in ROLES {
                assert!(theme.styles.contains_key(&role), "{name} lacks {role:?}");
            }
            assert!(theme.series.len() == 8, "{name}");
        }
    }

    #[test]
    fn colourless_theme_has_no_colours() {
        let mono = Theme::shipped().into_iter().find(|t| t.name == "mono").unwrap();
        for style in mono.styles.values().chain(&mono.series) {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }

    #[test]
    fn non_empty_no_color_overrides_the_theme() {
        let read = |value: Option<&str>| {
            let value = value.map(str::to_owned);
            Surroundings::read(|name| if name == "NO_COLOR" { value.clone() } else { None })
        };
        let names = |s| Theme::choose(Some("light"), &s).unwrap().into_iter().map(|t| t.name).collect::<Vec<_>>();
        assert_eq!(names(read(Some("false"))), ["mono"]);
        assert_eq!(names(read(Some("")))[0], "light");
        assert_eq!(names(read(None))[0], "light");
    }

    #[test]
    fn light_background_selects_the_light_theme() {
        let read = |v: &str| {
            let v = v.to_owned();
            Surroundings::read(move |name| (name == "COLORFGBG").then(|| v.clone())).light
        };
        assert!(read("0;15") && read("0;default;15") && !read("15;0") && !read("junk") && !read(""));
    }

    #[test]
    fn broken_themes_give_a_reason() {
        for (text, part) in [
            ("[role]\nglitter = {}\n", "line 2"),
            ("series = [{}]\n[role]\ntext = { fg = \"vantablack\" }", "vantablack"),
            ("series = []\n[role]", "series"),
        ] {
            let message = Theme::parse("x", text).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
        assert!(Theme::choose(Some("neon"), &Surroundings::default()).unwrap_err().to_string().contains("dark"));
    }
}
