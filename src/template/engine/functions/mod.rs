//! The function table: one row per function, checked against Go's signatures before the call.

pub mod arg;
pub mod builtins;
pub mod casing;
pub mod cast;
pub mod certificates;
pub mod compare;
pub mod crypto;
pub mod dates;
pub mod decimal;
pub mod deep;
pub mod defaults;
pub mod dicts;
pub mod encoding;
pub mod env;
pub mod json;
pub mod jwk;
pub mod letters;
pub mod lists;
pub mod math;
pub mod merge;
pub mod methods;
pub mod paths;
pub mod pkcs12;
pub mod random;
pub mod reflection;
pub mod regex;
pub mod semver;
pub mod strings;
pub mod table;
pub mod text;
pub mod urls;
pub mod yaml;

pub use env::{Env, RandomSource};

use crate::template::engine::failure::Failure;
use crate::template::engine::value::Value;

/// The Go type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// `string`
    String,
    /// `int`
    Int,
    /// `uint32`
    Uint32,
    /// `float64`
    Float64,
    /// `bool`
    Bool,
    /// `interface {}`
    Any,
    /// `reflect.Value`: as `interface {}`, but a nil keeps its form (built-ins only).
    Reflect,
    /// `map[string]interface {}`
    Map,
    /// `[]interface {}`
    List,
    /// `[]uint8`
    Bytes,
    /// `time.Time`
    Time,
    /// `time.Duration`
    Duration,
    /// `*time.Location`
    Location,
    /// `*semver.Version`
    Semver,
    /// `sprig.certificate`
    Certificate,
    /// `sprig.HashAlgorithm`
    HashAlgorithm,
}

impl ParamType {
    /// The type as Go prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Int => "int",
            Self::Uint32 => "uint32",
            Self::Float64 => "float64",
            Self::Bool => "bool",
            Self::Any => "interface {}",
            Self::Reflect => "reflect.Value",
            Self::Map => "map[string]interface {}",
            Self::List => "[]interface {}",
            Self::Bytes => "[]uint8",
            Self::Time => "time.Time",
            Self::Duration => "time.Duration",
            Self::Location => "*time.Location",
            Self::Semver => "*semver.Version",
            Self::Certificate => "sprig.certificate",
            Self::HashAlgorithm => "sprig.HashAlgorithm",
        }
    }

    /// True when an untyped nil may stand for this type.
    pub fn can_be_nil(self) -> bool {
        matches!(self, Self::Any | Self::Reflect | Self::Map | Self::List | Self::Bytes | Self::Location | Self::Semver)
    }
}

/// The body of a function. The arguments have been counted and have the types of the row.
pub type Body = fn(&mut Env<'_>, &[Value]) -> Result<Value, Failure>;

/// One function (or method: then the receiver is the first argument and has no entry in `params`).
pub struct Row {
    /// The name a template uses.
    pub name: &'static str,
    /// The fixed parameters.
    pub params: &'static [ParamType],
    /// The element type of the variadic last parameter, if there is one.
    pub variadic: Option<ParamType>,
    /// What Go says about a function a template may not call, because of its results.
    pub uncallable: Option<&'static str>,
    /// The function.
    pub run: Body,
}

impl Row {
    /// A function with fixed parameters.
    pub const fn new(name: &'static str, params: &'static [ParamType], run: Body) -> Self {
        Self { name, params, variadic: None, uncallable: None, run }
    }

    /// A function whose last parameter takes any number of values of type `rest`.
    pub const fn variadic(name: &'static str, params: &'static [ParamType], rest: ParamType, run: Body) -> Self {
        Self { name, params, variadic: Some(rest), uncallable: None, run }
    }

    /// A method with results a template cannot take; `why` is Go's message.
    pub const fn uncallable(name: &'static str, params: &'static [ParamType], why: &'static str) -> Self {
        Self { name, params, variadic: None, uncallable: Some(why), run: |_, _| Ok(Value::Nil) }
    }
}
