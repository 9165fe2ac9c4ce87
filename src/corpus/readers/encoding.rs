//! Detects files and bytes that are not UTF-8 text, and names the commands that convert them.

use std::path::Path;

/// Expected encoding, with the command for most other files.
pub(crate) const UTF_8: &str =
    "UTF-8 text; if it is Windows text, convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW";

/// Decodes UTF-8.
///
/// # Errors
/// The first invalid byte and its column.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        let byte = bytes[at];
        // Latin-1 letters of western languages. In UTF-8, these bytes can only begin a character.
        let latin = byte >= 0xa0 && bytes.get(at + 1).is_none_or(u8::is_ascii);
        let reading = if latin { format!(", which Latin-1 reads as `{}`", byte as char) } else { String::new() };
        format!("byte 0x{byte:02x} at column {}{reading}", at + 1)
    })
}

/// Recognises files that are not UTF-8 text by their first bytes. Returns what they are and what is expected instead.
pub(crate) fn foreign(head: &[u8], file: &Path) -> Option<(&'static str, String)> {
    let name = file.display();
    let unpacked = |command: &str| format!("UTF-8 text, plain or as .gz; unpack it: {command} {name}");
    let converted = |from: &str| format!("UTF-8 text; convert it: iconv -f {from} -t UTF-8 {name} > NEW");
    let pandas = |read: &str| {
        format!(
            "JSON lines: python3 -c \"import pandas; \
             pandas.{read}('{name}').to_json('{name}.jsonl', orient='records', lines=True)\""
        )
    };
    Some(match head {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => ("UTF-32 text", converted("UTF-32")),
        [0xff, 0xfe, ..] => ("UTF-16 text (little endian)", converted("UTF-16")),
        [0xfe, 0xff, ..] => ("UTF-16 text (big endian)", converted("UTF-16")),
        [b'P', b'K', 3, 4, ..] if memchr::memmem::find(head, b"xl/").is_some() => {
            ("an Excel workbook", "a table as text: save it as CSV UTF-8".into())
        }
        [b'P', b'K', 3, 4, ..] => ("a zip archive (or an Excel workbook, .xlsx)", unpacked("unzip")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("zstd-compressed data", unpacked("zstd -d")),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => ("bzip2-compressed data", unpacked("bunzip2 -k")),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => ("xz-compressed data", unpacked("unxz -k")),
        [b'7', b'z', 0xbc, 0xaf, ..] => ("a 7z archive", unpacked("7z x")),
        [b'P', b'A', b'R', b'1', ..] => ("a Parquet table", pandas("read_parquet")),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => ("an Arrow table", pandas("read_feather")),
        [0xd0, 0xcf, 0x11, 0xe0, ..] => ("an old Excel workbook", "a table as text: save it as CSV UTF-8".into()),
        _ if head.starts_with(b"\x93NUMPY") => ("a NumPy array", "UTF-8 text, plain or as .gz".into()),
        _ => match utf16(head)? {
            "UTF-16LE" => ("UTF-16 text (little endian, no byte order mark)", converted("UTF-16LE")),
            order => ("UTF-16 text (big endian, no byte order mark)", converted(order)),
        },
    })
}

/// Detects UTF-16 without a byte order mark: in western text, every second byte is NUL.
fn utf16(head: &[u8]) -> Option<&'static str> {
    let head = &head[..head.len().min(512)];
    let nul = |parity: usize| head.iter().skip(parity).step_by(2).filter(|b| **b == 0).count();
    let (even, odd, half) = (nul(0), nul(1), head.len() / 2);
    if half < 4 {
        None
    } else if odd * 10 >= half * 6 && even * 10 < half {
        Some("UTF-16LE")
    } else if even * 10 >= half * 6 && odd * 10 < half {
        Some("UTF-16BE")
    } else {
        None
    }
}
