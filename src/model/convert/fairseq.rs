//! Translation of tensor names from fairseq's RoBERTa to transformers, following
//! `convert_roberta_original_pytorch_checkpoint_to_pytorch.py`.

use super::Named;

/// Parts of tensor names outside the blocks, in fairseq and in transformers.
const OUTSIDE: [(&str, &str); 8] = [
    ("sentence_encoder.embed_tokens.", "roberta.embeddings.word_embeddings."),
    ("sentence_encoder.embed_positions.", "roberta.embeddings.position_embeddings."),
    ("sentence_encoder.emb_layer_norm.", "roberta.embeddings.LayerNorm."),
    ("sentence_encoder.layernorm_embedding.", "roberta.embeddings.LayerNorm."),
    ("lm_head.dense.", "lm_head.dense."),
    ("lm_head.layer_norm.", "lm_head.layer_norm."),
    ("lm_head.weight", "lm_head.decoder.weight"),
    ("lm_head.bias", "lm_head.bias"),
];

/// Parts of tensor names within a block, in fairseq and in transformers.
const INSIDE: [(&str, &str); 8] = [
    ("self_attn.q_proj.", "attention.self.query."),
    ("self_attn.k_proj.", "attention.self.key."),
    ("self_attn.v_proj.", "attention.self.value."),
    ("self_attn.out_proj.", "attention.output.dense."),
    ("self_attn_layer_norm.", "attention.output.LayerNorm."),
    ("fc1.", "intermediate.dense."),
    ("fc2.", "output.dense."),
    ("final_layer_norm.", "output.LayerNorm."),
];

/// Renames the tensors of a fairseq RoBERTa, splits joint projections, and adds the zero token types that transformers expects. Other
/// names are kept. Returns false for other models.
pub(super) fn rename(named: &mut Vec<Named<'_>>) -> Result<bool, String> {
    const TOKENS: &str = "sentence_encoder.embed_tokens.weight";
    let Some(tokens) = named.iter().find(|t| without_stack(&t.name) == Some(TOKENS)) else { return Ok(false) };
    let (dtype, width) = (tokens.dtype, tokens.shape.last().copied().unwrap_or(0));
    let types = Named {
        name: "roberta.embeddings.token_type_embeddings.weight".into(),
        dtype,
        shape: vec![1, width],
        from: None,
        file: None,
    };
    for tensor in std::mem::take(named) {
        match joint(&tensor.name) {
            Some((stem, kind)) => named.extend(split(&tensor, &stem, kind)?),
            None => named.push(Named { name: renamed(&tensor.name).unwrap_or(tensor.name), ..tensor }),
        }
    }
    named.push(types);
    Ok(true)
}

/// Strips the prefix of the encoder: `decoder` in fairseq until 2020, and `encoder` since then.
fn without_stack(name: &str) -> Option<&str> {
    name.strip_prefix("decoder.").or_else(|| name.strip_prefix("encoder."))
}

/// Splits a tensor name within a block into `roberta.encoder.layer.N.` and the remaining part.
fn in_block(name: &str) -> Option<(String, &str)> {
    let (number, rest) = without_stack(name)?.strip_prefix("sentence_encoder.layers.")?.split_once('.')?;
    number.parse::<usize>().is_ok().then(|| (format!("roberta.encoder.layer.{number}."), rest))
}

fn renamed(name: &str) -> Option<String> {
    let replace = |table: &[(&str, &str)], rest: &str| {
        table.iter().find_map(|(theirs, ours)| rest.strip_prefix(theirs).map(|end| format!("{ours}{end}")))
    };
    match in_block(name) {
        Some((block, rest)) => replace(&INSIDE, rest).map(|part| block + &part),
        None => replace(&OUTSIDE, without_stack(name)?),
    }
}

/// Returns the block of a joint projection, and `weight` or `bias`.
fn joint(name: &str) -> Option<(String, &str)> {
    let (block, rest) = in_block(name)?;
    Some((block, rest.strip_prefix("self_attn.in_proj_")?))
}

/// Splits the rows into three equal parts: query, key and value.
fn split<'a>(tensor: &Named<'a>, block: &str, kind: &str) -> Result<Vec<Named<'a>>, String> {
    let rows = tensor.shape.first().copied().unwrap_or(0);
    let Some((file, view)) = tensor.from.as_ref().filter(|_| rows > 0 && rows.is_multiple_of(3)) else {
        return Err(format!("{block}: a joint projection has {rows} rows, which is not a multiple of three"));
    };
    let part = |(i, part): (usize, &str)| {
        let mut view = view.clone();
        view.shape[0] = rows / 3;
        view.offset += i * (rows / 3) * view.stride[0];
        Named {
            name: format!("{block}attention.self.{part}.{kind}"),
            shape: view.shape.clone(),
            from: Some((*file, view)),
            ..*tensor
        }
    };
    Ok(["query", "key", "value"].into_iter().enumerate().map(part).collect())
}
