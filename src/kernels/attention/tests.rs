//! Compares attention with its definition, and its gradients with finite differences.

use super::*;
use proptest::prelude::*;

fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mix = |i: usize| (i as u32 + 3).wrapping_mul(2_654_435_761).wrapping_mul(2 * seed + 1) >> 16;
    (0..n).map(|i| (mix(i) % 2000) as f32 / 700.0 - 1.4).collect()
}

/// Builds spans from pairs (tokens, keys); every `every`-th row is a query.
fn spans(lengths: &[(usize, usize)], every: usize, heads: usize) -> (Vec<Span>, Vec<u32>) {
    let (mut spans, mut positions, mut row, mut kept) = (Vec::new(), Vec::new(), 0, 0);
    for (n, keys) in lengths {
        let from = positions.len();
        positions.extend((0..*n as u32).step_by(every));
        let span = Span { rows: row..row + n, keys: *keys, queries: from..positions.len(), kept };
        row += n;
        kept += span.kept_len(heads);
        spans.push(span);
    }
    (spans, positions)
}

/// Attention by definition in f64: probabilities and output of one query row.
fn exact(a: &Attention<'_>, q: &[f64], kv: &[f64], span: &Span, head: usize, query: usize) -> (Vec<f64>, Vec<f64>) {
    let (g, at) = (a.group(head), query * a.q_ld + head * a.dim);
    let dot = |key: usize| {
        let k = (span.rows.start + key) * a.kv_ld + a.k_from + g * a.dim;
        (0..a.dim).map(|i| q[at + i] * kv[k + i]).sum::<f64>() / (a.dim as f64).sqrt()
    };
    let scores: Vec<f64> = (0..a.sight(span, query)).map(dot).collect();
    let top = scores.iter().fold(f64::MIN, |m, x| m.max(*x));
    let sum: f64 = scores.iter().map(|x| (x - top).exp()).sum();
    let p: Vec<f64> = scores.iter().map(|x| (x - top).exp() / sum).collect();
    let value = |key: usize, i: usize| kv[(span.rows.start + key) * a.kv_ld + a.v_from + g * a.dim + i];
    let out = (0..a.dim).map(|i| p.iter().enumerate().map(|(k, p)| p * value(k, i)).sum()).collect();
    (p, out)
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|v| f64::from(*v)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn forward_follows_the_definition(
        lengths in prop::collection::vec(1usize..40, 1..4), cut in 0usize..3, dim in 1usize..70, groups in 1usize..3,
        each in 1usize..3, causal: bool, every in 1usize..3, seed in 0u32..50,
    ) {
        let heads = groups * each;
        let lengths: Vec<_> = lengths.iter().map(|n| (*n, n.saturating_sub(cut).max(1))).collect();
        let (spans, positions) = spans(&lengths, every, heads);
        let rows = spans.last().unwrap().rows.end;
        let (q_ld, kv_ld) = (heads * dim + 3, 2 * groups * dim + 1);
        let (q, kv) = (numbers(positions.len() * q_ld, seed), numbers(rows * kv_ld, seed + 1));
        let a = Attention {
            heads, kv_heads: groups, dim, causal, q: &q, q_ld, kv: &kv, kv_ld, k_from: 0, v_from: groups * dim,
            spans: &spans, positions: &positions,
        };
        let mut out = vec![f32::NAN; positions.len() * heads * dim];
        let mut kept = vec![f32::NAN; spans.iter().map(|s| s.kept_len(heads)).sum()];
        attend(Team::Pool, &a, &mut out, Some(&mut kept));
        let mut again = vec![f32::NAN; out.len()];
        attend(Team::Solo, &a, &mut again, None);
        prop_assert_eq!(&out, &again);
        let (q, kv) = (wide(&q), wide(&kv));
        for span in &spans {
            for (i, query) in span.queries.clone().enumerate() {
                for head in 0..heads {
                    let (p, o) = exact(&a, &q, &kv, span, head, query);
                    let row = &kept[span.kept + (head * span.queries.len() + i) * span.ld()..][..span.ld()];
                    prop_assert!(row.iter().zip(&p).all(|(g, w)| (f64::from(*g) - w).abs() < 1e-5));
                    prop_assert!(row[p.len()..].iter().all(|g| *g == 0.0), "masked keys have probability exactly 0");
                    let got = &out[query * heads * dim + head * dim..][..dim];
                    prop_assert!(got.iter().zip(&o).all(|(g, w)| (f64::from(*g) - w).abs() < 1e-5));
                }
            }
        }
    }

    #[test]
    fn backward_matches_finite_differences(
        lengths in prop::collection::vec(1usize..7, 1..3), cut in 0usize..2, dim in 1usize..5, groups in 1usize..3,
        each in 1usize..3, causal: bool, every in 1usize..3, seed in 0u32..50, apart: bool, with_extra: bool,
    ) {
        let heads = groups * each;
        let lengths: Vec<_> = lengths.iter().map(|n| (*n, n.saturating_sub(cut).max(1))).collect();
        let (spans, positions) = spans(&lengths, if apart { every } else { 1 }, heads);
        let rows = spans.last().unwrap().rows.end;
        let (w, g) = (heads * dim, groups * dim);
        // Queries are a separate matrix, or columns before keys and values, as a joint product returns them.
        let (q_ld, kv_ld, k_from) = if apart { (w, 2 * g, 0) } else { (w + 2 * g, w + 2 * g, w) };
        let kv = numbers(rows * kv_ld, seed);
        let q = if apart { numbers(positions.len() * q_ld, seed + 1) } else { kv.clone() };
        let a = Attention {
            heads, kv_heads: groups, dim, causal, q: &q, q_ld, kv: &kv, kv_ld, k_from, v_from: k_from + g,
            spans: &spans, positions: &positions,
        };
        let mut out = vec![0.0; positions.len() * w];
        let mut kept = vec![0.0; spans.iter().map(|s| s.kept_len(heads)).sum()];
        attend(Team::Solo, &a, &mut out, Some(&mut kept));
        let d = numbers(out.len(), seed + 2);
        let extra = numbers(kept.len(), seed + 3);
        let mut dq = vec![f32::NAN; q.len()];
        let mut dkv = vec![f32::NAN; kv.len()];
        let to = Gradients { q: apart.then_some(&mut dq[..]), kv: &mut dkv };
        attend_back(Team::Pool, &a, &kept, with_extra.then_some(&extra[..]), &d, to);
        let scalar = |q: &[f64], kv: &[f64]| {
            let mut sum = 0.0;
            for span in &spans {
                for (i, query) in span.queries.clone().enumerate() {
                    for head in 0..heads {
                        let (p, o) = exact(&a, q, kv, span, head, query);
                        let at = query * w + head * dim;
                        sum += o.iter().zip(&d[at..]).map(|(o, d)| o * f64::from(*d)).sum::<f64>();
                        let at = span.kept + (head * span.queries.len() + i) * span.ld();
                        if with_extra {
                            sum += p.iter().zip(&extra[at..]).map(|(p, e)| p * f64::from(*e)).sum::<f64>();
                        }
                    }
                }
            }
            sum
        };
        let (q, kv, h) = (wide(&q), wide(&kv), 1e-6);
        let slope = |i: usize, of_q: bool| {
            let moved = |h: f64| {
                let (mut q, mut kv) = (q.clone(), kv.clone());
                if of_q || !apart { q[i] += h }
                if !of_q || !apart { kv[i] += h }
                scalar(&q, &kv)
            };
            (moved(h) - moved(-h)) / (2.0 * h)
        };
        for (i, got) in dkv.iter().enumerate() {
            let want = slope(i, false);
            prop_assert!((f64::from(*got) - want).abs() < 1e-4 * (1.0 + want.abs()), "kv {i}: {got} {want}");
        }
        for (i, got) in dq.iter().enumerate().filter(|_| apart) {
            let want = slope(i, true);
            prop_assert!((f64::from(*got) - want).abs() < 1e-4 * (1.0 + want.abs()), "q {i}: {got} {want}");
        }
    }
}
