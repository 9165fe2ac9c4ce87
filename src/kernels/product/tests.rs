//! Compares products with their definition in double precision, for every final step, operand and unit.

use super::super::packed::Packed;
use super::*;
use crate::kind::Dtype;
use proptest::prelude::*;

/// The product by its definition, in double precision.
fn naive(a: impl Fn(usize, usize) -> f32, b: impl Fn(usize, usize) -> f32, shape: [usize; 3]) -> Vec<f64> {
    let [m, k, n] = shape;
    let at = |i: usize| (0..k).map(|l| f64::from(a(i / n, l)) * f64::from(b(l, i % n))).sum();
    (0..m * n).map(at).collect()
}

fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mix = |i: usize| (i as u32 + 1).wrapping_mul(2_654_435_761).wrapping_mul(2 * seed + 1) >> 16;
    (0..n).map(|i| (mix(i) % 2000) as f32 / 1000.0 - 1.0).collect()
}

fn close(got: &[f32], ld: usize, want: &[f64], n: usize) -> bool {
    want.chunks(n).zip(got.chunks(ld)).all(|(w, g)| w.iter().zip(g).all(|(w, g)| (w - f64::from(*g)).abs() < 2e-5))
}

/// Returns the available units that multiply in bf16, and prints the names of the others.
fn units() -> impl Iterator<Item = Unit> {
    Unit::ALL.into_iter().filter(|unit| {
        if !unit.available() {
            println!("skipped: bf16 on {unit}, which this machine lacks");
        }
        unit.available()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn bf16_equals_the_definition_on_rounded_numbers(m in 1usize..40, k in 1usize..70, n in 1usize..80, seed in 0u32..99) {
        let (a, weights, bias) = (numbers(m * k, seed), numbers(n * k, seed + 1), numbers(n, seed + 2));
        let round = |x: f32, dtype: Dtype| match dtype {
            Dtype::F16 => half::f16::from_f32(x).to_f32(),
            Dtype::Bf16 => half::bf16::from_f32(x).to_f32(),
            Dtype::F32 => x,
        };
        for dtype in Dtype::ALL {
            let mut packed = Packed::empty(dtype);
            packed.set_weights(k, &[&weights]);
            let mut column = vec![0.0; k];
            packed.column(n - 1, &mut column);
            let want: Vec<f32> = weights[(n - 1) * k..].iter().map(|w| round(*w, dtype)).collect();
            prop_assert_eq!(column, want);
            // Transposed left operands take the portable path, which rounds only the weights.
            let flipped: Vec<f32> = (0..m * k).map(|i| a[i % m * k + i / m]).collect();
            for unit in units() {
                let narrow = dtype == Dtype::Bf16 && unit != Unit::Widened;
                for (left, both) in [(Left::rows(&a, m, k, k), narrow), (Left::transposed(&flipped, m, k, m), false)] {
                    if !both && m == 1 && narrow {
                        continue;
                    }
                    let x = |i: usize, l: usize| if both { round(a[i * k + l], dtype) } else { a[i * k + l] };
                    let exact = naive(x, |l, j| round(weights[j * k + l], dtype), [m, k, n]);
                    let want: Vec<f64> = exact.iter().enumerate().map(|(i, p)| p + f64::from(bias[i % n])).collect();
                    let mut c = vec![0.0; m * n];
                    product_by(unit, Team::Pool, left, Right::packed(&packed), &mut c, n, Finish::Bias(&bias));
                    prop_assert!(close(&c, n, &want, n), "{dtype} {unit} {both}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn equals_the_definition(m in 1usize..130, k in 1usize..60, n in 1usize..80, gap in 0usize..3, seed in 0u32..99) {
        let (lda, ldb, ldc) = (k + gap, n + gap, n + 2 * gap);
        let (a, at) = (numbers(m * lda + 9, seed), numbers(k * (m + gap) + 9, seed));
        let b = numbers(k * ldb, seed + 1);
        let weights: Vec<f32> = (0..n * k).map(|i| b[(i % k) * ldb + i / k]).collect();
        let packed = Packed::from_weights(k, &[&weights]);
        let (bias, old) = (numbers(n, seed + 2), numbers(m * ldc, seed + 3));
        let rights = [Right::packed(&packed), Right::rows(&b, k, n, ldb)];
        for team in [Team::Solo, Team::Pool] {
            for right in rights {
                let plain = naive(|i, l| a[i * lda + l], |l, j| b[l * ldb + j], [m, k, n]);
                let mut c = old.clone();
                product(team, Left::rows(&a, m, k, lda), right, &mut c, ldc, Finish::Bias(&bias));
                let want: Vec<f64> = plain.iter().enumerate().map(|(i, p)| p + f64::from(bias[i % n])).collect();
                prop_assert!(close(&c, ldc, &want, n));
                let outside = |c: &[f32]| c.iter().zip(&old).enumerate().all(|(i, (x, y))| i % ldc < n || x == y);
                prop_assert!(outside(&c), "wrote between rows");
                let mut c = old.clone();
                product(team, Left::rows(&a, m, k, lda), right, &mut c, ldc, Finish::Add(Some(&bias)));
                let want: Vec<f64> = want.iter().enumerate().map(|(i, w)| w + f64::from(old[i / n * ldc + i % n])).collect();
                prop_assert!(close(&c, ldc, &want, n));
                let across = naive(|i, l| at[l * (m + gap) + i], |l, j| b[l * ldb + j], [m, k, n]);
                let mut c = vec![0.0; m * ldc];
                product(team, Left::transposed(&at, m, k, m + gap), right, &mut c, ldc, Finish::Accumulate);
                prop_assert!(close(&c, ldc, &across, n));
            }
        }
    }
}

#[test]
fn long_inner_axes_are_accumulated_in_blocks() {
    let (m, k, n) = (3, 2 * BLOCK + 5, 40);
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let mut c = vec![1.0; m * n];
    product(Team::Solo, Left::rows(&a, m, k, k), Right::rows(&b, k, n, n), &mut c, n, Finish::Accumulate);
    let want = naive(|i, l| a[i * k + l], |l, j| b[l * n + j], [m, k, n]);
    assert!(c.iter().zip(&want).all(|(c, w)| (f64::from(*c) - 1.0 - w).abs() < 1e-4));
}

#[test]
fn epilogues_match_their_definitions() {
    let (m, k, n) = (5, 7, 37);
    let (a, b, bias, old) = (numbers(m * k, 1), numbers(k * n, 2), numbers(n, 3), numbers(m * n, 4));
    let run = |finish: Finish<'_>| {
        let mut c = old.clone();
        product(Team::Solo, Left::rows(&a, m, k, k), Right::rows(&b, k, n, n), &mut c, n, finish);
        c
    };
    let silu = |x: f32| x / (1.0 + (-x).exp());
    let slope = |x: f32| 1.0 / (1.0 + (-x).exp()) * (1.0 + x - silu(x));
    let (plain, biased) = (run(Finish::Store), run(Finish::Bias(&bias)));
    let kind = Activation::Silu;
    let mut kept = vec![0.0; m * n];
    type Wanted<'a> = Box<dyn Fn(usize) -> f32 + 'a>;
    let cases: [(Vec<f32>, Wanted<'_>); 4] = [
        (run(Finish::Act(kind, Some(&bias))), Box::new(|i| silu(biased[i]))),
        (run(Finish::Keep(kind, Some(&bias), &mut kept)), Box::new(|i| silu(biased[i]))),
        (run(Finish::Gate(kind, Some(&bias))), Box::new(|i| silu(biased[i]) * old[i])),
        (run(Finish::Back(kind, &old)), Box::new(|i| plain[i] * slope(old[i]))),
    ];
    for (got, want) in &cases {
        assert!(got.iter().enumerate().all(|(i, g)| (g - want(i)).abs() < 1e-5));
    }
    assert_eq!(kept, biased);
}

#[test]
fn rows_are_independent() {
    let (k, n) = (100, 70);
    let (a, weights) = (numbers(200 * k, 5), numbers(n * k, 6));
    let packed = Packed::from_weights(k, &[&weights]);
    let run = |team, rows: Range<usize>| {
        let mut c = vec![0.0; rows.len() * n];
        let left = Left::rows(&a[rows.start * k..], rows.len(), k, k);
        product(team, left, Right::packed(&packed), &mut c, n, Finish::Act(Activation::GeluErf, None));
        c
    };
    let all = run(Team::Pool, 0..200);
    for rows in [0..1, 17..18, 3..60, 100..200, 199..200] {
        assert_eq!(run(Team::Solo, rows.clone()), all[rows.start * n..rows.end * n], "{rows:?}");
    }
}

#[test]
fn bf16_rows_are_independent_on_every_unit() {
    for k in [31, 64, 100] {
        let n = 70;
        let (a, weights) = (numbers(600 * k, 5), numbers(n * k, 6));
        let mut packed = Packed::empty(Dtype::Bf16);
        packed.set_weights(k, &[&weights]);
        for unit in units() {
            let run = |team, rows: Range<usize>| {
                let mut c = vec![0.0; rows.len() * n];
                let left = Left::rows(&a[rows.start * k..], rows.len(), k, k);
                let finish = Finish::Act(Activation::GeluErf, None);
                product_by(unit, team, left, Right::packed(&packed), &mut c, n, finish);
                c
            };
            let all = run(Team::Pool, 0..600);
            for rows in [0..1, 17..18, 3..60, 100..300, 15..600, 599..600] {
                assert_eq!(run(Team::Solo, rows.clone()), all[rows.start * n..rows.end * n], "{unit} {rows:?}");
            }
        }
    }
}

#[test]
fn bf16_rows_ignore_nan_in_neighbouring_data() {
    // If an inner axis ends within a step, the panel's memory continues with other weights.
    let (m, k, n) = (17, 35, 64);
    let mut weights = numbers(n * k, 3);
    weights[32 * k..].fill(f32::INFINITY);
    let mut a = numbers(m * k, 4);
    a[..16 * k].fill(f32::NAN);
    let mut packed = Packed::empty(Dtype::Bf16);
    packed.set_weights(k, &[&weights]);
    for unit in units() {
        let mut c = vec![0.0; m * n];
        let left = Left::rows(&a, m, k, k);
        product_by(unit, Team::Solo, left, Right::packed(&packed), &mut c, n, Finish::Store);
        assert!(c[16 * n..16 * n + 32].iter().all(|x| x.is_finite()), "{unit}");
        assert!(c[..16 * n].iter().all(|x| x.is_nan()), "{unit}");
    }
}

#[test]
fn parts_of_a_packed_matrix() {
    let (m, k, n) = (4, 50, 96);
    let (a, weights) = (numbers(m * k, 7), numbers(n * k, 8));
    let packed = Packed::from_weights(k, &[&weights]);
    let mut c = vec![0.0; m * 40];
    let right = Right::within(&packed, 32..72, 10..30);
    product(Team::Solo, Left::rows(&a[10..], m, 20, k), right, &mut c, 40, Finish::Store);
    let want = naive(|i, l| a[i * k + 10 + l], |l, j| weights[(32 + j) * k + 10 + l], [m, 20, 40]);
    assert!(close(&c, 40, &want, 40));
}

#[test]
#[should_panic(expected = "does not fit")]
fn a_short_operand_is_refused() {
    product(
        Team::Solo,
        Left::rows(&[1.0; 5], 2, 3, 3),
        Right::rows(&[1.0; 3], 3, 1, 1),
        &mut [0.0; 2],
        1,
        Finish::Store,
    );
}
