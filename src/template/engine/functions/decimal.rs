//! Exact decimal arithmetic on floats: `addf 1.1 2.2` is 3.3.
//!
//! Every operand is taken for the shortest decimal number that stands for it; the result becomes a float once,
//! at the end. Division keeps 16 places, rounded half away from zero.

use num_bigint::BigInt;

use crate::template::engine::functions::{Env, ParamType as P, Row, arg, cast};
use crate::template::engine::{Failure, Value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::variadic("addf", &[], P::Any, addf),
    Row::new("add1f", &[P::Any], add1f),
    Row::variadic("subf", &[P::Any], P::Any, subf),
    Row::variadic("mulf", &[P::Any], P::Any, mulf),
    Row::variadic("divf", &[P::Any], P::Any, divf),
];

/// Places behind the point that a division keeps.
const DIVISION_PLACES: i64 = 16;

/// Steps per operation; operands grow by at most 17 digits each time.
const STEPS: u64 = 100;

/// `digits * 10^exponent`
#[derive(Clone, Debug)]
struct Decimal {
    digits: BigInt,
    exponent: i64,
}

impl Decimal {
    fn from_float(number: f64) -> Result<Self, Failure> {
        if !number.is_finite() {
            let name = match (number.is_nan(), number > 0.0) {
                (true, _) => "NaN",
                (false, true) => "+Inf",
                (false, false) => "-Inf",
            };
            return Err(Failure::new(format!("Cannot create a Decimal from {name}")));
        }
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse().unwrap_or_default();
        let places = i64::try_from(fraction.len()).unwrap_or(0);
        Ok(Self { digits, exponent: exponent.parse::<i64>().unwrap_or(0) - places })
    }

    fn to_float(&self) -> f64 {
        // Reading decimal text rounds correctly.
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(0.0)
    }

    /// Both numbers as multiples of the smaller power of ten.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, i64) {
        let exponent = self.exponent.min(other.exponent);
        (shift(&self.digits, self.exponent - exponent), shift(&other.digits, other.exponent - exponent), exponent)
    }

    fn add(&self, other: &Self) -> Self {
        let (a, b, exponent) = self.aligned(other);
        Self { digits: a + b, exponent }
    }

    fn subtract(&self, other: &Self) -> Self {
        let (a, b, exponent) = self.aligned(other);
        Self { digits: a - b, exponent }
    }

    fn multiply(&self, other: &Self) -> Self {
        Self { digits: &self.digits * &other.digits, exponent: self.exponent + other.exponent }
    }

    fn divide(&self, other: &Self) -> Result<Self, Failure> {
        let zero = BigInt::default();
        if other.digits == zero {
            return Err(Failure::new("decimal division by 0"));
        }
        let power = self.exponent - other.exponent + DIVISION_PLACES;
        let dividend = shift(&self.digits, power.max(0));
        let divisor = shift(&other.digits, (-power).max(0));
        let mut quotient = &dividend / &divisor;
        let rest: BigInt = &dividend - &quotient * &divisor;
        if (rest * 2i32).magnitude() >= divisor.magnitude() {
            let negative = (dividend < zero) != (divisor < zero);
            quotient += if negative { -1 } else { 1 };
        }
        Ok(Self { digits: quotient, exponent: -DIVISION_PLACES })
    }
}

/// `digits * 10^places`; `places` is not negative and, coming from floats, below a thousand per operand.
fn shift(digits: &BigInt, places: i64) -> BigInt {
    digits * BigInt::from(10).pow(u32::try_from(places).unwrap_or(0))
}

/// Applies an operation from left to right.
fn fold(
    env: &mut Env<'_>,
    first: &Value,
    rest: &[Value],
    operation: impl Fn(&Decimal, &Decimal) -> Result<Decimal, Failure>,
) -> Result<Value, Failure> {
    let mut result = Decimal::from_float(cast::to_float64(first))?;
    for (done, operand) in (1..).zip(rest) {
        env.spend(STEPS.saturating_mul(done))?;
        result = operation(&result, &Decimal::from_float(cast::to_float64(operand))?)?;
    }
    Ok(Value::Float(result.to_float()))
}

fn addf(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    fold(env, &Value::Float(0.0), args, |a, b| Ok(a.add(b)))
}

fn add1f(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    fold(env, &arg::value(args, 0), &[Value::Float(1.0)], |a, b| Ok(a.add(b)))
}

fn subf(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    fold(env, &arg::value(args, 0), args.get(1..).unwrap_or_default(), |a, b| Ok(a.subtract(b)))
}

fn mulf(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    fold(env, &arg::value(args, 0), args.get(1..).unwrap_or_default(), |a, b| Ok(a.multiply(b)))
}

fn divf(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    fold(env, &arg::value(args, 0), args.get(1..).unwrap_or_default(), Decimal::divide)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(number: f64) -> Decimal {
        Decimal::from_float(number).expect("finite")
    }

    #[test]
    fn sums_are_exact_in_decimal() {
        assert_eq!(decimal(1.1).add(&decimal(2.2)).to_float(), 3.3);
        assert_eq!(decimal(1.5).subtract(&decimal(0.2)).to_float(), 1.3);
        assert_eq!(decimal(1.1).multiply(&decimal(1.1)).to_float(), 1.21);
        assert_eq!(decimal(1e300).add(&decimal(1e-300)).to_float(), 1e300);
    }

    #[test]
    fn division_keeps_sixteen_places_and_rounds_half_away() {
        let divide = |a: f64, b: f64| decimal(a).divide(&decimal(b)).expect("no zero").to_float();
        assert_eq!(divide(1.0, 3.0), 0.333_333_333_333_333_3);
        assert_eq!(divide(-2.0, 3.0), -0.666_666_666_666_666_7);
        assert_eq!(divide(1e-20, 3.0), 0.0);
        assert_eq!(divide(10.0, 4.0), 2.5);
    }

    #[test]
    fn zero_divisor_and_infinity_are_errors() {
        assert_eq!(decimal(1.0).divide(&decimal(0.0)).unwrap_err().text(), "decimal division by 0");
        assert_eq!(Decimal::from_float(f64::INFINITY).unwrap_err().text(), "Cannot create a Decimal from +Inf");
    }
}
