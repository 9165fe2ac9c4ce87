//! All formats. The first that recognises a file reads it, so formats with more specific keys come before those with
//! fewer.

use super::format::Format;
use super::{
    agreement, bear, blimp, causal_eval, ding_koehn, eraser, inseq, labelled, lama, lpaqa, pararel, plain, rationale,
    scored, senteval, vectors,
};

pub static FORMATS: &[Format] = &[
    blimp::FORMAT,
    causal_eval::SAMPLES,
    bear::RESULTS,
    bear::METADATA,
    bear::RUN,
    bear::FACTS,
    lama::FACTS,
    lama::RELATIONS,
    pararel::PATTERNS,
    pararel::FACTS,
    causal_eval::PROMPTS,
    lpaqa::WEIGHTED,
    eraser::ROWS,
    eraser::PREDICTIONS,
    inseq::FORMAT,
    scored::FORMAT,
    rationale::GOLD,
    rationale::PREDICTIONS,
    ding_koehn::ROWS,
    plain::FORMAT,
    labelled::JSON,
    blimp::TABLE,
    agreement::LGD,
    agreement::NATURAL,
    agreement::TEST_SET,
    agreement::NONCE,
    causal_eval::TABLES,
    lama::RELATION_TABLE,
    labelled::FORMAT,
    lama::FACT_TABLE,
    labelled::COLA,
    senteval::FORMAT,
    ding_koehn::PREFIXES,
    ding_koehn::PARTS,
    lpaqa::LINES,
    vectors::FORMAT,
];
