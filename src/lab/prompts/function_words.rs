//! English function words, which models often predict but which have no content. The paper's rule skips them when it selects the best
//! token. Cao et al. 2022 use the list of a toolkit, which differs from this one.

use std::collections::HashSet;
use std::path::Path;

use base::Problem;

/// Articles and determiners, pronouns, prepositions, conjunctions, auxiliaries, particles, and parts of contractions.
const WORDS: &str = "
a an the this that these those each every either neither some any no none all both half several many much more most few
fewer fewest less least other another such same own enough certain various
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it
its itself they them their theirs themselves one ones oneself someone somebody something anyone anybody anything everyone
everybody everything nobody nothing who whom whose which what whoever whatever whichever
about above across after against along alongside amid among amongst around as at before behind below beneath beside besides
between beyond by concerning despite down during except for from in inside into like near of off on onto opposite out
outside over past per regarding round since than through throughout till to toward towards under underneath unlike until up
upon via versus with within without
and or nor but yet so because although though while whereas if unless whether when whenever where wherever how however why
that lest once also too either neither then thus hence therefore otherwise else
am is are was were be been being have has had having do does did doing done will would shall should can could may might
must ought need dare used
not never ever very quite rather just only even still already again further here there now almost always often sometimes
perhaps maybe
isn aren wasn weren hasn haven hadn don doesn didn won wouldn shan shouldn couldn mayn mightn mustn oughtn needn ain ma
'm 're 's 've 'd 'll n't 't m re s ve d ll t y o '' `` ' \" `
";
const MAX_BYTES: u64 = 4 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionWords {
    words: HashSet<String>,
    /// True if tokens without a letter or digit, such as a full stop, are skipped too.
    symbols: bool,
}

impl FunctionWords {
    /// The built-in list, and all tokens without a letter or digit.
    pub fn own() -> Self {
        Self { symbols: true, ..Self::of(WORDS) }
    }

    pub fn none() -> Self {
        Self::default()
    }

    /// Parses words separated by whitespace.
    pub fn of(text: &str) -> Self {
        Self { words: text.split_whitespace().map(str::to_owned).collect(), symbols: false }
    }

    /// Reads words separated by whitespace from a file.
    ///
    /// # Errors
    /// A [`Problem`] if it cannot be read, is not text, or is not a list of words.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let wrong = |what: String| Problem {
            what,
            r#where: path.display().to_string(),
            hint: "give a text file with one word per line, or omit `query.function_words`".into(),
        };
        let text = base::read::text(path, MAX_BYTES).map_err(|e| wrong(format!("cannot read the words: {e}")))?;
        let words = Self::of(&text);
        if words.words.is_empty() { Err(wrong("it contains no words".into())) } else { Ok(words) }
    }

    /// True if words with this spelling are skipped.
    pub fn contains(&self, word: &str) -> bool {
        self.words.contains(word) || self.symbols && !word.chars().any(char::is_alphanumeric)
    }

    pub(crate) fn pass_symbols(&self) -> bool {
        self.symbols
    }

    /// All words, sorted, to identify the list.
    pub fn sorted(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.words.iter().map(String::as_str).collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::facts::relations;

    #[test]
    fn list_has_function_words_and_no_fact_objects() {
        let own = FunctionWords::own();
        assert!(["the", "of", "is", "n't", "themselves", "'s"].iter().all(|w| own.contains(w)));
        assert!(!own.contains("The") && !own.contains("river"));
        assert!([".", ",", "...", "—", ""].iter().all(|w| own.contains(w)) && !FunctionWords::of("the").contains("."));
        for r in relations().unwrap() {
            for f in &r.facts {
                assert!(!own.contains(&f.object), "{} of {}", f.object, r.id);
            }
        }
    }

    #[test]
    fn word_list_is_read_from_a_file_or_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("words.txt");
        let printed = FunctionWords::read(&path).unwrap_err();
        assert!(printed.r#where.ends_with("words.txt") && printed.what.contains("cannot read"), "{printed}");
        std::fs::write(&path, "der\ndie das\n").unwrap();
        assert_eq!(FunctionWords::read(&path).unwrap().sorted(), ["das", "der", "die"]);
        std::fs::write(&path, " \n").unwrap();
        assert!(FunctionWords::read(&path).unwrap_err().what.contains("no words"));
        std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
        assert!(FunctionWords::read(&path).is_err());
    }
}
