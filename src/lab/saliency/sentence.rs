//! Typed sentences, and the positions of words in a text.

use super::finding::{OWN, Sample, SentenceFinding};
use corpus::task::MASK;

/// Maximum length of a typed sentence, in characters.
pub const LONGEST: usize = 4_000;

/// True if a word contains a letter or digit.
pub fn is_word(word: &str) -> bool {
    word.chars().any(char::is_alphanumeric)
}

/// True for a character of a script without spaces, in which each character is a word.
fn alone(c: char) -> bool {
    matches!(u32::from(c), 0x2E80..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x323AF)
}

/// Spans of the words in a text, as start and end in characters. Words are runs of letters and digits (with inner apostrophes and hyphens),
/// other single characters, and `[MASK]`.
pub fn spans(text: &str) -> Vec<(usize, usize)> {
    let chars: Vec<char> = text.chars().collect();
    let mask: Vec<char> = MASK.chars().collect();
    let (mut spans, mut at) = (Vec::new(), 0);
    let joins = |c: char| c.is_alphanumeric() && !alone(c);
    while at < chars.len() {
        let from = at;
        if chars[at].is_whitespace() || chars[at].is_control() {
            at += 1;
            continue;
        }
        if chars[at..].starts_with(&mask) {
            at += mask.len();
        } else if joins(chars[at]) {
            while at < chars.len() {
                let inside = matches!(chars[at], '\'' | '’' | '-') && chars.get(at + 1).is_some_and(|c| joins(*c));
                // Combining marks belong to the letter before them.
                if !(joins(chars[at]) || inside || unicode_width::UnicodeWidthChar::width(chars[at]) == Some(0)) {
                    break;
                }
                at += 1;
            }
        } else {
            at += 1;
        }
        spans.push((from, at));
    }
    spans
}

/// Positions of consecutive words in a text; `None` if it does not contain them.
pub fn locate(text: &str, words: &[String]) -> Option<Vec<(usize, usize)>> {
    let (mut byte, mut char) = (0, 0);
    let mut spans = Vec::with_capacity(words.len());
    for word in words {
        let found = text[byte..].find(word.as_str()).filter(|_| !word.is_empty())?;
        let from = char + text[byte..byte + found].chars().count();
        let to = from + word.chars().count();
        spans.push((from, to));
        (byte, char) = (byte + found + word.len(), to);
    }
    Some(spans)
}

/// Joins words into a text and returns their positions. Words are separated by spaces, except in scripts without spaces.
pub fn joined(words: &[String]) -> (String, Vec<(usize, usize)>) {
    let blank = !words.iter().any(|w| w.chars().any(alone));
    let (mut text, mut at, mut spans) = (String::new(), 0, Vec::with_capacity(words.len()));
    for word in words {
        if blank && at > 0 {
            text.push(' ');
            at += 1;
        }
        text.push_str(word);
        let to = at + word.chars().count();
        spans.push((at, to));
        at = to;
    }
    (text, spans)
}

/// Parses a typed sentence. The mask may be in lower case, or as RoBERTa spells it.
///
/// # Errors
/// A message that says what is wrong.
pub fn own(text: &str, answer: Option<&str>) -> Result<SentenceFinding, String> {
    let mut text = text.trim().replace("<mask>", MASK);
    if text.chars().count() > LONGEST {
        return Err(format!("the text has more than {LONGEST} characters: give a single sentence"));
    }
    while let Some(at) =
        text.to_ascii_lowercase().match_indices("[mask]").map(|(at, _)| at).find(|at| !text[*at..].starts_with(MASK))
    {
        text.replace_range(at..at + MASK.len(), MASK);
    }
    let spans = spans(&text);
    let chars: Vec<char> = text.chars().collect();
    let words: Vec<String> = spans.iter().map(|(from, to)| chars[*from..*to].iter().collect()).collect();
    let masks: Vec<usize> = (0..words.len()).filter(|i| words[*i] == MASK).collect();
    let Some((first, last)) = masks.first().zip(masks.last()) else {
        return Err(format!("there is no {MASK} in the text: put it where a word is to be predicted"));
    };
    if last - first + 1 != masks.len() {
        return Err("the masks must be adjacent, because they stand for the tokens of one answer".into());
    }
    Ok(SentenceFinding {
        sentence: OWN.into(),
        dimension: String::new(),
        sample: Sample::Own,
        perturbation: None,
        original: None,
        partners: Vec::new(),
        text,
        words,
        spans,
        masks,
        gold: Vec::new(),
        answer: answer.map(str::trim).filter(|a| !a.is_empty()).map(str::to_owned),
        other_answers: Vec::new(),
        alignment: None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn typed_sentence_is_split_into_words() {
        let s = own("The dog's well-known  [mask], 我们 [1].", None).unwrap();
        assert_eq!(s.words, ["The", "dog's", "well-known", "[MASK]", ",", "我", "们", "[", "1", "]", "."]);
        assert_eq!(s.masks, [3]);
        assert_eq!(own("It is <mask> <mask>.", Some(" ")).unwrap().masks, [2, 3]);
        for bad in ["", "no mask here", "[MASK] and [MASK]", "\u{1b}[2J"] {
            assert!(own(bad, None).is_err(), "{bad:?}");
        }
        assert!(own(&"a".repeat(LONGEST + 1), None).is_err());
    }

    #[test]
    fn words_are_located_in_the_text() {
        let words: Vec<String> = ["As", "usual", ",", "the", "the"].map(str::to_owned).to_vec();
        assert_eq!(locate("As usual, the the", &words), Some(vec![(0, 2), (3, 8), (8, 9), (10, 13), (14, 17)]));
        assert_eq!(locate("As usual, the", &words), None);
        assert_eq!(joined(&["我".into(), "们".into()]).0, "我们");
        assert_eq!(joined(&["a".into(), "b".into()]), ("a b".into(), vec![(0, 1), (2, 3)]));
    }

    proptest! {
        #[test]
        fn any_text_is_split_without_loss(text in "\\PC{0,60}") {
            let chars: Vec<char> = text.chars().collect();
            let mut at = 0;
            for (from, to) in spans(&text) {
                prop_assert!(from >= at && to > from && to <= chars.len());
                prop_assert!(chars[at..from].iter().all(|c| c.is_whitespace() || c.is_control()));
                at = to;
            }
            let _ = own(&format!("{text} [MASK]"), None);
        }
    }
}
