//! Properties of every executor: equivalent plans give equal results, and gradients are correct derivatives.

use proptest::prelude::*;

use crate::arch::Head;
use crate::testing::{VOCAB, archs, batch, bert, distance, model};
use crate::{Array, Edit, EditKind, HookPoint, Model, ModelError, Plan, Scalar, Sites, Target};

/// Every hook point that supports edits.
fn vector_points(m: &Model) -> Vec<HookPoint> {
    let mut points = vec![HookPoint::Embed];
    for l in 0..m.layers() {
        points.extend([
            HookPoint::ResidPre(l),
            HookPoint::AttnOut(l),
            HookPoint::ResidMid(l),
            HookPoint::MlpOut(l),
            HookPoint::ResidPost(l),
        ]);
    }
    for l in 0..m.arch().decoder.map_or(0, |d| d.layers) {
        points.extend([HookPoint::DecoderPre(l), HookPoint::DecoderPost(l)]);
    }
    points.push(HookPoint::FinalNorm);
    points.retain(|p| p.exists_in(m.arch()));
    points
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn captures_do_not_change_results(seed in 0u64..1000, lengths in prop::collection::vec(1usize..7, 1..4)) {
        for arch in archs() {
            let m = model(arch, seed);
            let b = batch(&lengths, seed);
            let bare = m.forward(&b, &Plan::default().logits_at(Sites::All)).unwrap();
            let mut plan = Plan::default().logits_at(Sites::All);
            for p in vector_points(&m) {
                plan = plan.capture(p);
            }
            for l in 0..m.layers() {
                plan = plan.capture(HookPoint::Pattern(l));
            }
            for l in 0..m.arch().decoder.map_or(0, |d| d.layers) {
                plan = plan.capture(HookPoint::DecoderPattern(l)).capture(HookPoint::CrossPattern(l));
            }
            let full = m.forward(&b, &plan).unwrap();
            prop_assert_eq!(&bare.logits, &full.logits);
            for (p, a) in &full.captures {
                prop_assert!(a.data.iter().all(|v| v.is_finite()), "{} of {}", p, m.arch().family);
                if p.is_pattern() {
                    let sums = (0..a.rows()).map(|i| a.row(i).iter().sum::<f32>());
                    prop_assert!(sums.into_iter().all(|s| (s - 1.0).abs() < 1e-5));
                }
            }
        }
    }

    #[test]
    fn overwriting_with_the_same_value_changes_nothing(seed in 0u64..1000, row in 0usize..2, position in 0usize..4) {
        for arch in archs() {
            let m = model(arch, seed);
            let b = batch(&[4, 6], seed);
            for p in vector_points(&m) {
                let at = vec![(row, position)];
                let seen = m.forward(&b, &Plan::default().capture_at(p, Sites::At(at.clone())).logits_at(Sites::All)).unwrap();
                let value = seen.get(p).unwrap().clone();
                let zero = Array::zeros([value.width()]);
                for (how, value) in [(EditKind::Overwrite, value), (EditKind::Add, zero)] {
                    let edit = Edit { at: p, sites: at.clone(), how, value };
                    let again = m.forward(&b, &Plan::default().edit(edit).logits_at(Sites::All)).unwrap();
                    prop_assert!(distance(seen.logits().unwrap(), again.logits().unwrap()) < 1e-5, "{} {:?}", p, how);
                }
            }
        }
    }

    #[test]
    fn resuming_equals_the_full_pass(seed in 0u64..1000, lengths in prop::collection::vec(1usize..7, 1..4)) {
        for arch in archs() {
            let m = model(arch, seed);
            let b = batch(&lengths, seed);
            for l in 0..=m.layers() {
                let p = if l < m.layers() { HookPoint::ResidPre(l) } else { HookPoint::ResidPost(l - 1) };
                let full = m.forward(&b, &Plan::default().capture(p).logits_at(Sites::All)).unwrap();
                let state = full.get(p).unwrap().clone();
                let resumed = m.forward(&b, &Plan::default().resume(l, state).logits_at(Sites::All)).unwrap();
                prop_assert!(distance(full.logits().unwrap(), resumed.logits().unwrap()) < 1e-6);
            }
        }
    }

    #[test]
    fn sentences_are_independent_of_padding_and_batch(seed in 0u64..1000, short in 1usize..6) {
        for arch in archs() {
            let m = model(arch, seed);
            let both = batch(&[short, 8], seed);
            let alone = batch(&[short], seed);
            let last = HookPoint::ResidPost(m.layers() - 1);
            let plan = |n: usize| {
                let sites = Sites::At((0..n).map(|t| (0, t)).collect());
                Plan::default().capture_at(last, sites.clone()).logits_at(sites)
            };
            let a = m.forward(&both, &plan(short)).unwrap();
            let b = m.forward(&alone, &plan(short)).unwrap();
            prop_assert!(distance(&a.captures[0].1, &b.captures[0].1) < 1e-5);
            prop_assert!(distance(a.logits().unwrap(), b.logits().unwrap()) < 1e-4);
        }
    }

    #[test]
    fn selected_sites_equal_full_results(seed in 0u64..1000, picks in prop::collection::vec((0usize..2, 0usize..3), 1..5)) {
        for arch in archs() {
            let m = model(arch, seed);
            let b = batch(&[3, 5], seed);
            let vocab = vec![7u32, 0, 7, 22];
            let sites = Sites::At(picks.clone());
            let some = Plan::default()
                .capture_at(HookPoint::ResidPre(1), sites.clone())
                .capture_at(HookPoint::Pattern(1), sites.clone())
                .logits_of(sites, vocab.clone());
            let all = Plan::default().capture(HookPoint::ResidPre(1)).capture(HookPoint::Pattern(1)).logits_at(Sites::All);
            let (some, all) = (m.forward(&b, &some).unwrap(), m.forward(&b, &all).unwrap());
            let (t, h) = (b.len(), m.arch().heads);
            for (i, &(row, position)) in picks.iter().enumerate() {
                prop_assert_eq!(some.captures[0].1.row(i), all.captures[0].1.at(row, position));
                let pattern = &some.captures[1].1.data[i * h * t..(i + 1) * h * t];
                for head in 0..h {
                    let from = ((row * h + head) * t + position) * t;
                    prop_assert_eq!(&pattern[head * t..(head + 1) * t], &all.captures[1].1.data[from..from + t]);
                }
                for (k, &id) in vocab.iter().enumerate() {
                    let whole = all.logits().unwrap().at(row, position)[id as usize];
                    prop_assert!((some.logits().unwrap().row(i)[k] - whole).abs() < 1e-4);
                }
            }
        }
    }
}

/// Value of a scalar if the pass starts from changed vectors `x` at point `p`.
fn scalar_at(m: &Model, b: &crate::Batch, p: HookPoint, x: Array, of: &Scalar) -> f64 {
    let start = match p {
        HookPoint::Embed => Plan::default().from_embeddings(x),
        HookPoint::ResidPre(l) => Plan::default().resume(l, x),
        other => panic!("{other}"),
    };
    let probe = HookPoint::ResidPre(m.layers() - 1);
    let trace = m.forward(b, &start.gradient(of.clone(), &[probe])).unwrap();
    trace.scalars.iter().map(|&v| f64::from(v)).sum()
}

#[test]
fn gradients_match_finite_differences_of_scalars() {
    for arch in archs() {
        let m = model(arch, 3);
        let b = batch(&[3, 5], 4);
        let targets = vec![Target { row: 0, position: 2, token: 5 }, Target { row: 1, position: 3, token: 11 }];
        let last = HookPoint::ResidPost(m.layers() - 1);
        let cotangent = Array::new([1, 8], (0..8).map(|i| (i as f32 * 0.7).sin()).collect::<Vec<_>>());
        let scalars = [
            Scalar::Logit(targets.clone()),
            Scalar::Probability(targets.clone()),
            Scalar::LogProbability(targets),
            Scalar::Cotangent { at: last, sites: Sites::At(vec![(1, 2)]), value: cotangent },
        ];
        for of in &scalars {
            for p in [HookPoint::Embed, HookPoint::ResidPre(1)] {
                let plan = Plan::default().capture(p).gradient(of.clone(), &[p]);
                let trace = m.forward(&b, &plan).unwrap();
                let (x, g) = (trace.get(p).unwrap(), trace.gradient(p).unwrap());
                let scale = g.data.iter().fold(0f64, |s, v| s.max(f64::from(v.abs())));
                assert!(scale > 1e-4, "{} {p}: a gradient of {scale} is too small for this test", m.arch().family);
                let mut worst = 0f64;
                for i in (0..x.data.len()).step_by(3) {
                    let moved = |by: f32| {
                        let mut y = x.clone();
                        y.data[i] += by;
                        // The actual step after rounding to f32.
                        (scalar_at(&m, &b, p, y.clone(), of), f64::from(y.data[i] - x.data[i]))
                    };
                    // Extrapolates two central differences to step 0, with an error of fourth order in the step.
                    let slope = |h: f32| {
                        let ((up, a), (down, b)) = (moved(h), moved(-h));
                        (up - down) / (a - b)
                    };
                    let estimate = (4.0 * slope(0.01) - slope(0.02)) / 3.0;
                    worst = worst.max((estimate - f64::from(g.data[i])).abs());
                }
                println!("{} {p}: finite differences deviate by {worst:.1e} of {scale:.1e}", m.arch().family);
                assert!(worst < 2e-3 * scale + 2e-4, "{} {p} {of:?}: {worst} of {scale}", m.arch().family);
            }
        }
    }
}

#[test]
fn combined_gradient_requests_equal_single_ones() {
    for arch in archs() {
        let m = model(arch, 5);
        let b = batch(&[4, 2], 6);
        let of = Scalar::Logit(vec![Target { row: 0, position: 3, token: 1 }]);
        let points = vector_points(&m);
        let all = m.forward(&b, &Plan::default().gradient(of.clone(), &points)).unwrap();
        for p in points {
            let one = m.forward(&b, &Plan::default().gradient(of.clone(), &[p])).unwrap();
            let (a, b) = (all.gradient(p).unwrap(), one.gradient(p).unwrap());
            assert!(distance(a, b) < 1e-5, "{p} of {}", m.arch().family);
            let other_row = &a.data[a.data.len() / 2..];
            assert!(other_row.iter().all(|&v| v == 0.0), "{p}: the other sentence has no gradient");
        }
    }
}

#[test]
fn pass_with_gradients_equals_plain_pass() {
    for arch in archs() {
        let m = model(arch, 7);
        let b = batch(&[4, 6, 1], 8);
        let of = Scalar::Logit(vec![Target { row: 0, position: 0, token: 0 }]);
        let plan = Plan::default().capture(HookPoint::ResidPost(2)).logits_at(Sites::All);
        let fast = m.forward(&b, &plan).unwrap();
        let slow = m.forward(&b, &plan.clone().gradient(of, &[HookPoint::Embed])).unwrap();
        assert!(distance(&fast.captures[0].1, &slow.captures[0].1) < 1e-5);
        assert!(distance(fast.logits().unwrap(), slow.logits().unwrap()) < 1e-5);
    }
}

#[test]
fn unreachable_gradient_is_an_error() {
    let m = model(bert(), 1);
    let b = batch(&[3], 1);
    // The scalar is computed before the point is reached, so it has no gradient with respect to it.
    let of = Scalar::Cotangent { at: HookPoint::ResidPre(0), sites: Sites::All, value: Array::zeros([1, 3, 8]) };
    let plan = Plan::default().capture(HookPoint::ResidPost(1)).gradient(of, &[HookPoint::ResidPost(1)]);
    let refused = m.forward(&b, &plan);
    assert!(
        matches!(refused, Err(ModelError::MissingGradient(HookPoint::ResidPost(1)))),
        "{:?}",
        refused.map(|t| t.gradients)
    );
}

#[test]
fn edit_takes_one_vector_or_one_per_site() {
    let m = model(bert(), 2);
    let b = batch(&[4, 4], 3);
    let p = HookPoint::ResidPost(0);
    let sites = vec![(0, 1), (1, 2)];
    let v = |x: f32| vec![x; 8];
    let read = |value: Array, how| {
        let edit = Edit { at: p, sites: sites.clone(), how, value };
        m.forward(&b, &Plan::default().edit(edit).capture(p)).unwrap().take(p).unwrap()
    };
    let one = read(Array::new([8], v(0.5)), EditKind::Overwrite);
    let each = read(Array::new([2, 8], [v(0.5), v(-2.0)].concat()), EditKind::Overwrite);
    assert_eq!((one.at(0, 1), one.at(1, 2)), (&v(0.5)[..], &v(0.5)[..]));
    assert_eq!((each.at(0, 1), each.at(1, 2)), (&v(0.5)[..], &v(-2.0)[..]));
    assert_eq!(one.at(0, 0), each.at(0, 0));
    let plain = m.forward(&b, &Plan::default().capture(p)).unwrap().take(p).unwrap();
    let added = read(Array::new([8], v(1.0)), EditKind::Add);
    assert!((added.at(0, 1)[3] - plain.at(0, 1)[3] - 1.0).abs() < 1e-6);
    assert_eq!(added.at(0, 3), plain.at(0, 3));
}

#[test]
fn causal_model_ignores_later_tokens() {
    let m = model(archs().remove(1), 4);
    let (a, b) = (batch(&[5], 1), batch(&[5], 2));
    let mut ids = a.ids().to_vec();
    ids[4] = b.ids()[4].wrapping_add(1) % VOCAB as u32;
    let b = crate::Batch::new(&[ids], 0).unwrap();
    let plan = Plan::default().logits_at(Sites::At((0..4).map(|t| (0, t)).collect()));
    assert_eq!(m.forward(&a, &plan).unwrap().logits, m.forward(&b, &plan).unwrap().logits);
}

#[test]
fn invalid_plans_are_rejected_with_a_reason() {
    let m = model(bert(), 1);
    let b = batch(&[3, 2], 1);
    let edit = |at, sites: Vec<(usize, usize)>, n: usize| {
        Plan::default().edit(Edit { at, sites, how: EditKind::Add, value: Array::zeros([n]) })
    };
    let nan = Array::new([8], vec![f32::NAN; 8]);
    let target = |row, position, token| Scalar::Logit(vec![Target { row, position, token }]);
    let post = HookPoint::ResidPost(0);
    let bad = [
        (Plan::default().capture(HookPoint::ResidPre(3)), "does not exist"),
        (Plan::default().capture(HookPoint::FinalNorm), "does not exist"),
        (Plan::default().capture_at(post, Sites::At(vec![(1, 2)])), "no token at sentence 1, position 2"),
        (Plan::default().capture_at(post, Sites::At(vec![])), "empty list"),
        (Plan::default().logits_of(Sites::All, vec![23]), "outside the vocabulary"),
        (edit(post, vec![(2, 0)], 8), "no token at sentence 2"),
        (edit(post, vec![(0, 0)], 7), "expected [8] or [1, 8]"),
        (edit(post, vec![], 8), "has no positions"),
        (edit(HookPoint::Pattern(0), vec![(0, 0)], 8), "read, not changed"),
        (Plan::default().edit(Edit { at: post, sites: vec![(0, 0)], how: EditKind::Add, value: nan }), "contains NaN"),
        (Plan::default().resume(4, Array::zeros([2, 3, 8])), "resume at block 4"),
        (Plan::default().resume(1, Array::zeros([2, 2, 8])), "expected [2, 3, 8]"),
        (Plan::default().from_embeddings(Array::zeros([2, 3, 9])), "expected [2, 3, 8]"),
        (Plan::default().resume(1, Array::zeros([2, 3, 8])).capture(post), "is before block 1"),
        (Plan::default().resume(1, Array::zeros([2, 3, 8])).capture(HookPoint::Embed), "is before block"),
        (Plan::default().gradient(target(0, 3, 0), &[HookPoint::Embed]), "no token"),
        (Plan::default().gradient(target(0, 0, 99), &[HookPoint::Embed]), "outside the vocabulary"),
        (Plan::default().gradient(target(0, 0, 0), &[]), "without hook points"),
        (Plan::default().gradient(target(0, 0, 0), &[HookPoint::Pattern(0)]), "not available"),
        (Plan::default().gradient(Scalar::Logit(vec![]), &[HookPoint::Embed]), "without targets"),
    ];
    for (plan, said) in bad {
        match m.forward(&b, &plan) {
            Err(ModelError::Plan(why)) => assert!(why.contains(said), "{why:?} should say {said:?}"),
            other => panic!("{said}: {other:?}"),
        }
    }
}

#[test]
fn invalid_batches_are_rejected_with_a_reason() {
    let m = model(bert(), 1);
    let plan = Plan::default().logits_at(Sites::All);
    let long = batch(&[3, 11], 1);
    assert!(matches!(m.forward(&long, &plan), Err(ModelError::TooLong { row: 1, len: 11, max: 10 })));
    let foreign = crate::Batch::new(&[vec![1, 23]], 0).unwrap();
    assert!(matches!(m.forward(&foreign, &plan), Err(ModelError::TokenId { id: 23, row: 0, vocab: 23 })));
    let typed = crate::Batch::with_types(&[vec![1, 2]], &[vec![0, 2]], 0).unwrap();
    assert!(matches!(m.forward(&typed, &plan), Err(ModelError::Plan(_))));
}

#[test]
fn headless_model_refuses_only_logits() {
    let m = model(crate::Arch { head: Head::None, ..bert() }, 1);
    let b = batch(&[3], 1);
    let refused = m.forward(&b, &Plan::default().logits_at(Sites::All)).unwrap_err();
    assert!(
        refused.to_string().contains("no masked-LM head, which prompts need; probes of hidden states work without one")
    );
    assert!(m.forward(&b, &Plan::default().capture(HookPoint::ResidPost(2))).is_ok());
}

#[test]
fn empty_plan_runs_nothing() {
    let m = model(bert(), 1);
    let trace = m.forward(&batch(&[3], 1), &Plan::default()).unwrap();
    assert_eq!(trace, crate::Trace::default());
    let plan = Plan::default().capture(HookPoint::ResidPre(1));
    assert_eq!(plan.extent(m.arch()).blocks, 1, "no block above the last one needed runs");
}

#[test]
fn explicit_decoder_input_is_used() {
    let m = model(archs().pop().unwrap(), 9);
    let start = m.arch().decoder.unwrap().start_token;
    let b = batch(&[4, 4], 2);
    let shifted: Vec<Vec<u32>> = b.ids().chunks(4).map(|r| [&[start], &r[..3]].concat()).collect();
    let explicit = b.clone().with_decoder(&shifted, 0).unwrap();
    let plan = Plan::default().capture(HookPoint::CrossPattern(1)).logits_at(Sites::All);
    assert_eq!(m.forward(&b, &plan).unwrap(), m.forward(&explicit, &plan).unwrap());
    let short = b.clone().with_decoder(&[vec![start], vec![start, 5]], 0).unwrap();
    let trace = m.forward(&short, &plan).unwrap();
    assert_eq!(trace.captures[0].1.shape, [2, 4, 2, 4]);
    assert_eq!(trace.logits().unwrap().shape, [2, 2, VOCAB]);
    let beyond = Plan::default().logits_at(Sites::At(vec![(0, 1)]));
    assert!(matches!(m.forward(&short, &beyond), Err(ModelError::Plan(_))), "row 0 has only one decoder token");
    let plain = model(bert(), 1);
    let refused = plain.forward(&short, &Plan::default().logits_at(Sites::All));
    assert!(matches!(refused, Err(ModelError::Plan(_))), "a model without a decoder rejects decoder rows");
}

/// GPT-NeoX with 10-dimensional heads, half of each rotated: transformers uses the frequencies base^0, base^(-2/5) and base^(-4/5) to
/// rotate six dimensions.
#[test]
fn odd_rotary_dimension_count_matches_transformers() {
    use crate::arch::{Arch, Embedding, Positions};
    use crate::testing::params;
    use crate::{Batch, Device};
    let neox = archs().into_iter().find(|a| a.family == "gpt_neox").unwrap();
    let odd = Arch { hidden: 20, head_dim: 10, embedding: Embedding::plain(20), ..neox };
    odd.validate().unwrap();
    assert_eq!((odd.rotated(), odd.rotary_share()), (6, 5));
    let open = |arch: &Arch, device| Model::from_params("odd", arch.clone(), params(arch, 4), None, device).unwrap();
    let b = batch(&[5, 2], 9);
    let logits = |m: &Model, b: &Batch| {
        m.forward(b, &Plan::default().logits_at(Sites::per_row(&b.last_positions()))).unwrap().logits.unwrap()
    };
    let ours = logits(&open(&odd, Device::Cpu), &b);
    assert!(distance(&ours, &logits(&open(&odd, Device::CandleCpu), &b)) < 1e-4);
    // A share of 0.6 also rotates six of ten dimensions, but it is a different network.
    let even = Arch {
        positions: Positions::Rotary { theta: 100.0, fraction: 0.6, scaling: crate::arch::Scaling::None },
        ..odd.clone()
    };
    assert!(distance(&ours, &logits(&open(&even, Device::Cpu), &b)) > 1e-4);
    let whole = Arch { head_dim: 5, hidden: 10, embedding: Embedding::plain(10), ..even };
    let whole = Arch {
        positions: Positions::Rotary { theta: 100.0, fraction: 1.0, scaling: crate::arch::Scaling::None },
        ..whole
    };
    assert!(whole.validate().is_err(), "there is no sixth dimension to rotate");
}
