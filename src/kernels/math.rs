//! Exponential and activation functions on vectors, with their derivatives.
#![allow(unsafe_code)]

use super::simd::{LANE, Pass, Simd, dispatch};
use super::team::{Shared, Team};
use crate::kind::Activation;

/// e^x with an error of at most 1.3 units in the last place. Results are 1.2e-38 below -87.3 and 1.7e38 above 88; NaN stays NaN.
///
/// Method: x = n ln 2 + r with |r| <= ln 2 / 2; the result is 2^n times a polynomial in r (coefficients of Cephes' `expf`).
#[inline(always)]
pub fn exp<S: Simd>(s: S, x: S::V) -> S::V {
    let x = s.min(s.splat(88.0), s.max(s.splat(-87.3), x));
    let n = s.round(s.mul(x, s.splat(std::f32::consts::LOG2_E)));
    // ln 2 in two parts, so that n ln 2 is exact to the last bit of r.
    let r = s.fma(n, s.splat(-0.693_359_4), x);
    let r = s.fma(n, s.splat(2.121_944_4e-4), r);
    let mut p = s.splat(1.987_569_1e-4);
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5] {
        p = s.fma(p, r, s.splat(c));
    }
    let p = s.fma(s.mul(r, r), p, s.add(r, s.splat(1.0)));
    s.mul(p, s.exp2i(n))
}

/// Absolute value of x above which the normal distribution function is 0 or 1 in single precision.
const PHI_END: f32 = 5.5;
/// Phi(x) - 1/2 = x P(x²) / Q(x²) on |x| <= 5.5: minimax fit with error 2.1e-8.
const PHI_P: [f32; 7] =
    [1.117_343_8e-10, -2.197_938_6e-8, 3.202_222_7e-6, 1.674_714_2e-4, 4.491_784_7e-3, 3.565_766_2e-2, 0.398_942_2];
const PHI_Q: [f32; 5] = [6.128_8e-5, 1.814_573e-3, 2.893_683_4e-2, 0.256_045_6, 1.0];

/// Normal distribution function, with an error of at most 2e-7.
#[inline(always)]
fn phi<S: Simd>(s: S, x: S::V) -> S::V {
    let x = s.min(s.splat(PHI_END), s.max(s.splat(-PHI_END), x));
    let t = s.mul(x, x);
    let (mut p, mut q) = (s.splat(PHI_P[0]), s.splat(PHI_Q[0]));
    for c in &PHI_P[1..] {
        p = s.fma(p, t, s.splat(*c));
    }
    for c in &PHI_Q[1..] {
        q = s.fma(q, t, s.splat(*c));
    }
    s.add(s.splat(0.5), s.div(s.mul(x, p), q))
}

/// g = 1 / (1 + e^-x), and 1 - g computed without cancellation.
#[inline(always)]
fn sigmoid<S: Simd>(s: S, x: S::V) -> (S::V, S::V) {
    let e = exp(s, s.sub(s.splat(0.0), x));
    let g = s.div(s.splat(1.0), s.add(s.splat(1.0), e));
    (g, s.mul(e, g))
}

/// 2 sqrt(2 / pi): the tanh form of GELU is x sigmoid(GELU_A (x + GELU_B x³)).
const GELU_A: f32 = 1.595_769;
const GELU_B: f32 = 0.044_715;

/// The sigmoid in GELU's tanh form, its complement, and the derivative of its argument.
#[inline(always)]
fn gelu_gate<S: Simd>(s: S, x: S::V) -> ((S::V, S::V), S::V) {
    let t = s.mul(x, x);
    let u = s.mul(s.mul(s.splat(GELU_A), x), s.fma(t, s.splat(GELU_B), s.splat(1.0)));
    let du = s.mul(s.splat(GELU_A), s.fma(t, s.splat(3.0 * GELU_B), s.splat(1.0)));
    (sigmoid(s, u), du)
}

#[inline(always)]
pub fn activate<S: Simd>(s: S, kind: Activation, x: S::V) -> S::V {
    match kind {
        Activation::GeluErf => s.mul(x, phi(s, x)),
        Activation::GeluTanh => s.mul(x, gelu_gate(s, x).0.0),
        Activation::Relu => s.where_positive(x, x),
        Activation::Silu => s.mul(x, sigmoid(s, x).0),
    }
}

/// Derivative of the activation. ReLU has derivative 0 at 0, as in PyTorch and candle.
#[inline(always)]
pub(crate) fn derivative<S: Simd>(s: S, kind: Activation, x: S::V) -> S::V {
    match kind {
        Activation::GeluErf => {
            // Phi(x) + x phi(x)
            let density = exp(s, s.mul(s.mul(x, x), s.splat(-0.5)));
            s.fma(s.mul(x, density), s.splat(0.398_942_3), phi(s, x))
        }
        Activation::GeluTanh => {
            let (g, du) = gelu_gate(s, x);
            slope(s, x, g, du)
        }
        Activation::Relu => s.where_positive(x, s.splat(1.0)),
        Activation::Silu => slope(s, x, sigmoid(s, x), s.splat(1.0)),
    }
}

/// Derivative of x g, where g = sigmoid(u(x)) and du = u'(x): g + x g (1 - g) du. `rest` is 1 - g.
#[inline(always)]
fn slope<S: Simd>(s: S, x: S::V, (g, rest): (S::V, S::V), du: S::V) -> S::V {
    s.fma(s.mul(s.mul(x, du), g), rest, g)
}

/// Minimum number of elements per thread.
const LEAST: usize = 1 << 13;

/// `out = act(gate) up`
pub fn gate(team: Team, kind: Activation, gate: &[f32], up: &[f32], out: &mut [f32]) {
    assert!(gate.len() == out.len() && up.len() == out.len(), "gate, inputs and results differ in length");
    let out = Shared::new(out);
    team.ranges(up.len(), LEAST, |r| {
        // SAFETY: ranges are disjoint.
        let out = unsafe { out.part(r.clone()) };
        dispatch(Gate { kind, gate: &gate[r.clone()], up: &up[r], out });
    });
}

struct Gate<'a> {
    kind: Activation,
    gate: &'a [f32],
    up: &'a [f32],
    out: &'a mut [f32],
}

impl Pass for Gate<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for i in (0..self.out.len()).step_by(LANE) {
            let g = activate(s, self.kind, s.get(self.gate, i));
            s.put(s.mul(g, s.get(self.up, i)), self.out, i);
        }
    }
}

/// Backward pass of [`gate()`]: replaces `d`, the gradient of the result, with the gradient of `up`, and writes the gradient of `gate` to
/// `d_gate`.
pub fn gate_back(team: Team, kind: Activation, gate: &[f32], up: &[f32], d: &mut [f32], d_gate: &mut [f32]) {
    assert!(
        gate.len() == d.len() && up.len() == d.len() && d_gate.len() == d.len(),
        "gate, inputs and results differ in length"
    );
    let (d, d_gate) = (Shared::new(d), Shared::new(d_gate));
    team.ranges(up.len(), LEAST, |r| {
        // SAFETY: ranges are disjoint.
        let (d, d_gate) = unsafe { (d.part(r.clone()), d_gate.part(r.clone())) };
        dispatch(GateBack { kind, gate: &gate[r.clone()], up: &up[r], d, d_gate });
    });
}

struct GateBack<'a> {
    kind: Activation,
    gate: &'a [f32],
    up: &'a [f32],
    d: &'a mut [f32],
    d_gate: &'a mut [f32],
}

impl Pass for GateBack<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for i in (0..self.d.len()).step_by(LANE) {
            let (g, u, d) = (s.get(self.gate, i), s.get(self.up, i), s.get(self.d, i));
            s.put(s.mul(s.mul(d, u), derivative(s, self.kind, g)), self.d_gate, i);
            s.put(s.mul(d, activate(s, self.kind, g)), self.d, i);
        }
    }
}

/// `d = d act'(pre)`
pub fn activate_back(kind: Activation, pre: &[f32], d: &mut [f32]) {
    assert_eq!(pre.len(), d.len(), "inputs and gradients differ in length");
    dispatch(ActivateBack { kind, pre, d });
}

struct ActivateBack<'a> {
    kind: Activation,
    pre: &'a [f32],
    d: &'a mut [f32],
}

impl Pass for ActivateBack<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for i in (0..self.d.len()).step_by(LANE) {
            let v = derivative(s, self.kind, s.get(self.pre, i));
            s.put(s.mul(s.get(self.d, i), v), self.d, i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::simd::{Level, run_at};
    use super::*;

    struct Map<'a>(Option<Activation>, bool, &'a [f32]);

    impl Pass for Map<'_> {
        type Out = Vec<f32>;
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> Vec<f32> {
            let mut out = vec![0.0; self.2.len()];
            for i in (0..out.len()).step_by(LANE) {
                let x = s.get(self.2, i);
                let y = match (self.0, self.1) {
                    (None, _) => exp(s, x),
                    (Some(kind), false) => activate(s, kind, x),
                    (Some(kind), true) => derivative(s, kind, x),
                };
                s.put(y, &mut out, i);
            }
            out
        }
    }

    /// erf in f64, from its series and, for large arguments, its continued fraction.
    fn erf(x: f64) -> f64 {
        if x.abs() < 3.0 {
            let (mut term, mut sum) = (x, x);
            for n in 1..200 {
                term *= -x * x / f64::from(n);
                sum += term / f64::from(2 * n + 1);
            }
            return sum * 2.0 / std::f64::consts::PI.sqrt();
        }
        let mut f = 0.0;
        for n in (1..200).rev() {
            f = f64::from(n) / 2.0 / (x.abs() + f);
        }
        x.signum() * (1.0 - (-x * x).exp() / std::f64::consts::PI.sqrt() / (x.abs() + f))
    }

    fn exact(kind: Activation, x: f64) -> f64 {
        match kind {
            Activation::GeluErf => 0.5 * x * (1.0 + erf(x / 2f64.sqrt())),
            Activation::GeluTanh => {
                0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
            }
            Activation::Relu => x.max(0.0),
            Activation::Silu => x / (1.0 + (-x).exp()),
        }
    }

    const KINDS: [Activation; 4] = [Activation::GeluErf, Activation::GeluTanh, Activation::Relu, Activation::Silu];
    const LEVELS: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

    fn numbers() -> Vec<f32> {
        (-12_000..=12_000).map(|i| i as f32 / 1000.0 + 0.000_37).chain([-1e4, -90.0, -50.0, 50.0, 1e4]).collect()
    }

    #[test]
    fn exp_is_within_two_units_in_the_last_place() {
        let x: Vec<f32> = (-87_000..=88_000).map(|i| i as f32 / 1000.0).collect();
        for level in LEVELS {
            let worst = run_at(level, Map(None, false, &x)).iter().zip(&x).fold(0f64, |w, (y, x)| {
                let want = f64::from(*x).exp();
                w.max((f64::from(*y) - want).abs() / want)
            });
            println!("exp {level:?}: {worst:.2e} relative");
            assert!(worst < 1.6e-7, "{level:?} {worst}");
        }
    }

    #[test]
    fn activations_have_error_below_1e_6() {
        let x = numbers();
        for level in LEVELS {
            for kind in KINDS {
                let worst = run_at(level, Map(Some(kind), false, &x)).iter().zip(&x).fold(0f64, |w, (y, x)| {
                    let want = exact(kind, f64::from(*x));
                    // Errors are absolute up to 8, where one unit in the last place is 1e-6, and relative beyond.
                    w.max((f64::from(*y) - want).abs() / (f64::from(*x).abs() / 8.0).max(1.0))
                });
                println!("{kind:?} {level:?}: {worst:.2e}");
                assert!(worst < 1.2e-6, "{kind:?} {level:?} {worst}");
            }
        }
    }

    #[test]
    fn derivatives_match_finite_differences() {
        let x = numbers();
        for level in LEVELS {
            for kind in KINDS {
                let worst = run_at(level, Map(Some(kind), true, &x)).iter().zip(&x).fold(0f64, |w, (y, x)| {
                    let (x, h) = (f64::from(*x), 1e-5);
                    let want = (exact(kind, x + h) - exact(kind, x - h)) / (2.0 * h);
                    w.max((f64::from(*y) - want).abs())
                });
                println!("{kind:?}' {level:?}: {worst:.2e}");
                assert!(worst < 1e-6, "{kind:?} {level:?} {worst}");
            }
        }
    }

    #[test]
    fn gates_and_their_gradients() {
        let n = 100;
        let x = |k: usize| (0..n).map(|i| ((i * k) % 41) as f32 / 10.0 - 2.0).collect::<Vec<f32>>();
        let (g, u, d) = (x(7), x(11), x(13));
        for kind in KINDS {
            let (mut out, mut back, mut d_gate) = (vec![0.0; n], d.clone(), vec![0.0; n]);
            gate(Team::Pool, kind, &g, &u, &mut out);
            gate_back(Team::Solo, kind, &g, &u, &mut back, &mut d_gate);
            let mut plain = d.clone();
            activate_back(kind, &g, &mut plain);
            for i in 0..n {
                let act = exact(kind, f64::from(g[i])) as f32;
                assert!((out[i] - act * u[i]).abs() < 1e-5 && (back[i] - d[i] * act).abs() < 1e-5);
                assert!((d_gate[i] - plain[i] * u[i]).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn nan_is_propagated() {
        for level in LEVELS {
            let map = |kind, d| run_at(level, Map(kind, d, &[f32::NAN; LANE]));
            assert!(map(None, false).iter().all(|y| y.is_nan()));
            for kind in [Activation::GeluErf, Activation::GeluTanh, Activation::Silu] {
                assert!(map(Some(kind), false).iter().chain(&map(Some(kind), true)).all(|y| y.is_nan()));
            }
        }
    }
}
