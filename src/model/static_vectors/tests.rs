//! Word vectors from valid and malicious files.

use std::io::Write;

use super::*;
use crate::{HookPoint, ModelSource, Plan, PoolOver, Pooling, Scalar, Sites};

fn file(dir: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn read(bytes: &[u8]) -> Result<StaticVectors> {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "v.txt", bytes);
    StaticVectors::read(&Address { path, ..Address::default() })
}

#[test]
fn glove_and_word2vec_files_are_read() {
    let glove = read(b"the 0.5 -1\ncat 2e-1 3\n. 0 1\n").unwrap();
    assert_eq!(glove.words, ["the", "cat", "."]);
    assert_eq!(glove.vectors.data, [0.0, 0.0, 0.5, -1.0, 0.2, 3.0, 0.0, 1.0]);
    assert!(glove.fold, "without upper-case letters, words are looked up in lower case");
    // word2vec files have a header, and a space at the end of each line.
    let word2vec = read(b"2 3\r\n</s> 1 2 3 \r\nThe 4 5 6 \r\n").unwrap();
    assert_eq!((word2vec.words.len(), word2vec.width(), word2vec.fold), (2, 3, false));
    assert_eq!(word2vec.vectors.row(2), [4.0, 5.0, 6.0]);
    // A header has exactly two numbers, so a numeric word followed by two numbers is not a header.
    assert_eq!(read(b"1 0.5 0.25\n").unwrap().width(), 2);
}

#[test]
fn words_may_contain_spaces_and_duplicates_are_ignored() {
    let v = read(b"a 1 2\n. . . 3 4\nat name@domain.com 5 6\na 7 8\n").unwrap();
    assert_eq!(v.words, ["a", ". . .", "at name@domain.com"]);
    assert_eq!((v.vectors.row(1), v.duplicates), (&[1.0, 2.0][..], 1));
}

#[test]
fn damaged_line_error_names_the_line() {
    let mut long = b"a 1 2\nb ".to_vec();
    long.extend(std::iter::repeat_n(b'7', LONGEST_LINE + 10));
    let cases: [(&[u8], &[&str]); 13] = [
        (b"", &["empty"]),
        (b"3 2\n", &["empty"]),
        (b"a 1 2\nb 1\n", &["line 2", "expected"]),
        (b"a 1 2\nb 1 2 3\n", &["line 2", "more than 2"]),
        (b"a 1 2\nb x 2\n", &["line 2", "'x' is not a number"]),
        (b"a 1 2\nb nan 2\n", &["line 2", "not a finite number"]),
        (b"a 1 2\nb 1e39 2\n", &["line 2", "not a finite number"]),
        (b"a 1 2\n\nb 1 2\n", &["line 2", "empty"]),
        (b"a 1 2\nb\0 1 2\n", &["line 2", "NUL"]),
        (b"a 1 2\n\xff\xfe 1 2\n", &["line 2", "UTF-8"]),
        (b"3 2\na 1 2\nb 1 2\n", &["states 3 words, but there are 2"]),
        (b"word\n", &["line 1", "without numbers"]),
        (&long, &["line 2", "longer than"]),
    ];
    for (bytes, needles) in cases {
        let said = read(bytes).unwrap_err().to_string();
        assert!(needles.iter().all(|n| said.contains(n)) && said.contains("v.txt"), "{said}");
        assert!(!said.contains('\u{1b}'));
    }
    let said = read(b"a 1 2\nb \x1b[2J 2\n").unwrap_err().to_string();
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[test]
fn gzip_files_are_read_and_damaged_ones_rejected() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(b"a 1 2\nb 3 4\n").unwrap();
    let packed = packer.finish().unwrap();
    assert_eq!(read(&packed).unwrap().words, ["a", "b"]);
    assert!(matches!(read(&packed[..packed.len() - 6]), Err(ModelError::Io { .. })));
}

#[test]
fn vocabulary_limits_the_vectors_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "v.txt", b"the 1 2\ncat 3 4\nDog 5 6\nsat 7 8\n");
    let texts = file(&dir, "texts.txt", b"The dog\nDog cat.\n");
    let address = Address { path, vocabulary: Some(texts.clone()), ..Address::default() };
    let v = StaticVectors::read(&address).unwrap();
    assert_eq!((v.words.as_slice(), v.skipped, v.fold), (&["the", "cat", "Dog"].map(String::from)[..], 1, false));
    std::fs::write(&texts, "nothing").unwrap();
    assert!(
        StaticVectors::read(&address).unwrap_err().to_string().contains("no vector for any word in the vocabulary")
    );
}

#[test]
fn addresses_round_trip() {
    for text in ["glove:/a/b.txt", "glove:/a/b.txt?lower", "glove:/a/b.txt?cased&spaces&words=/t.txt"] {
        let source: ModelSource = text.parse().unwrap();
        assert!(matches!(source, ModelSource::Vectors(_)), "{source:?}");
        assert_eq!(source.to_string(), text);
    }
    assert_eq!("word2vec:/a/b.txt".parse::<ModelSource>().unwrap().to_string(), "glove:/a/b.txt");
    assert!("glove:/a/b.txt?upper".parse::<ModelSource>().unwrap_err().to_string().contains("known: lower"));
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "v.vec", b"a 1\n");
    assert!(
        matches!(path.display().to_string().parse(), Ok(ModelSource::Vectors(_))),
        "the file is recognised as word vectors"
    );
}

fn model() -> Model {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "v.txt", b"the 1 2\ncat 3 5\n. 0 4\n");
    Model::load(&format!("glove:{}", path.display()).parse().unwrap(), Device::Cpu).unwrap()
}

#[test]
fn sentence_vector_is_mean_with_unknown_words_zero() {
    let m = model();
    let v = m.sentence_vectors(&["The cat", "cat unseen", "unseen"]).unwrap();
    assert_eq!((v.shape.as_slice(), v.data.as_slice()), (&[3, 2][..], &[2.0, 3.5, 1.5, 2.5, 0.0, 0.0][..]));
    let max = Pooling::plain(PoolOver::Max);
    assert_eq!(m.sentence_vectors_at(&["the cat ."], HookPoint::Embed, max).unwrap().data, [3.0, 5.0]);
    assert!(matches!(m.sentence_vectors(&["cat", ""]), Err(ModelError::Empty { row: 1 })));
}

#[test]
fn unsupported_requests_to_word_vectors_are_explained() {
    let m = model();
    let batch = m.batch(&["the cat", "cat"]).unwrap();
    let refused = |plan: Plan| m.forward(&batch, &plan).unwrap_err().to_string();
    assert!(refused(Plan::default().logits_at(Sites::All)).contains("no "));
    for at in [HookPoint::Pattern(0), HookPoint::ResidPost(0), HookPoint::ResidPre(0), HookPoint::FinalNorm] {
        assert!(refused(Plan::default().capture(at)).contains("does not exist"), "{at}");
    }
    let cotangent = Scalar::Cotangent { at: HookPoint::Embed, sites: Sites::All, value: Array::zeros([2, 2, 2]) };
    assert!(refused(Plan::default().gradient(cotangent, &[HookPoint::Embed])).contains("word vectors"));
    assert!(m.layer_point(1).is_err() && m.layer_point(0).unwrap() == HookPoint::Embed);
}
