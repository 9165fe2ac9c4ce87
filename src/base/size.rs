//! Memory and file sizes in the forms that people use: `512M`, `2G`, `1.5 GB`.

/// Parses a size in bytes. K, M, G, T are powers of 1024, with or without `B` or `iB`; no letter means bytes.
pub fn parse(text: &str) -> Result<u64, String> {
    let bad = || {
        let shown: String = text.chars().take(40).collect();
        format!("`{}` is not a size; enter, for example, 512M or 2G", shown.escape_debug())
    };
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim().to_ascii_uppercase();
    let unit = unit.strip_suffix("IB").or_else(|| unit.strip_suffix('B')).unwrap_or(&unit);
    let factor = match unit {
        "" => 1u64,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return Err(bad()),
    };
    let number: f64 = number.parse().map_err(|_| bad())?;
    let bytes = number * factor as f64;
    if bytes.is_finite() && bytes < 1e18 { Ok(bytes as u64) } else { Err(bad()) }
}

/// Formats a size in the largest suitable unit.
pub fn show(bytes: u64) -> String {
    let units = [("TB", 1u64 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)];
    match units.iter().find(|(_, size)| bytes >= *size) {
        Some((name, size)) => format!("{:.1} {name}", bytes as f64 / *size as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_and_displayed() {
        for (text, bytes) in
            [("2G", 2 << 30), ("512 MB", 512 << 20), ("1.5k", 1536), ("7", 7), ("1 GiB", 1 << 30), ("0", 0)]
        {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for bad in ["", "G", "-1G", "2X", "1e3", "nan", "9999999999999T", "\u{1b}[2J"] {
            let said = parse(bad).unwrap_err();
            assert!(!said.contains('\u{1b}') && said.contains("512M"), "{said}");
        }
        assert_eq!([show(0), show(1536), show(3 << 30)], ["0 bytes", "1.5 kB", "3.0 GB"]);
    }
}
