//! The values a template can meet, with Go's types.
//!
//! Text is bytes from end to end. Maps and `[]string` are references, as in Go: two variables that hold the
//! same map see each other's changes. Memory is counted by [`super::meter`] and wiped when freed.

mod collection;
mod text;

pub use collection::{List, Map, StringList, StringMap};
pub(crate) use collection::release_changed_maps;
pub use text::Str;

use std::fmt;
use std::rc::Rc;

use crate::lang::gotime::Time;
use crate::template::engine::functions::semver::Version;

/// What `genCA` and its family return: PEM texts under the fields `Cert` and `Key`.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate, PEM.
    pub cert: Str,
    /// The private key, PEM.
    pub key: Str,
}

/// One value of a template, tagged with its Go type.
#[derive(Clone)]
pub enum Value {
    /// No value at all (Go's invalid `reflect.Value`, or an untyped nil).
    Nil,
    /// A nil of type `interface {}`: a nil element of a list or map.
    NilAny,
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i64),
    /// `int64`
    Int64(i64),
    /// `uint8`: a byte of a string.
    Uint8(u8),
    /// `uint32`: only as an argument.
    Uint32(u32),
    /// `uint64`
    Uint64(u64),
    /// `float64`
    Float(f64),
    /// `complex128`: real and imaginary part.
    Complex(f64, f64),
    /// `string`
    Str(Str),
    /// `sprig.HashAlgorithm`: only as an argument.
    HashAlgorithm(Str),
    /// `[]interface {}`
    List(List),
    /// `[][]interface {}`; every element is a `Value::List`.
    Chunks(List),
    /// `[]string`
    Strings(StringList),
    /// `[]int`
    Ints(Rc<[i64]>),
    /// `[]uint8`
    Bytes(Str),
    /// `map[string]interface {}`
    Map(Map),
    /// `map[string]string`
    StrMap(StringMap),
    /// `time.Time`
    Time(Rc<Time>),
    /// `time.Duration`, nanoseconds
    Duration(i64),
    /// `time.Month`, 1 to 12
    Month(i64),
    /// `time.Weekday`, 0 is Sunday
    Weekday(i64),
    /// `*time.Location`, by its name
    Location(Str),
    /// `*semver.Version`
    Semver(Rc<Version>),
    /// `semver.Version`, the struct itself
    SemverValue(Rc<Version>),
    /// `sprig.certificate`
    Certificate(Rc<Certificate>),
}

impl Value {
    /// A `string` value.
    pub fn str(text: impl Into<Str>) -> Self {
        Self::Str(text.into())
    }

    /// A `[]interface {}` value.
    pub fn list(items: Vec<Value>) -> Self {
        Self::List(List::new(items))
    }

    /// A `[]string` value.
    pub fn strings(items: Vec<Str>) -> Self {
        Self::Strings(StringList::new(items))
    }

    /// A `time.Time` value.
    pub fn time(time: Time) -> Self {
        Self::Time(Rc::new(time))
    }

    /// True for both kinds of nil (not for nil lists and maps).
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil | Self::NilAny)
    }

    /// The bytes of a `string`, else `None`.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The type as Go prints it with `%T`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Nil | Self::NilAny => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Uint8(_) => "uint8",
            Self::Uint32(_) => "uint32",
            Self::Uint64(_) => "uint64",
            Self::Float(_) => "float64",
            Self::Complex(..) => "complex128",
            Self::Str(_) => "string",
            Self::HashAlgorithm(_) => "sprig.HashAlgorithm",
            Self::List(_) => "[]interface {}",
            Self::Chunks(_) => "[][]interface {}",
            Self::Strings(_) => "[]string",
            Self::Ints(_) => "[]int",
            Self::Bytes(_) => "[]uint8",
            Self::Map(_) => "map[string]interface {}",
            Self::StrMap(_) => "map[string]string",
            Self::Time(_) => "time.Time",
            Self::Duration(_) => "time.Duration",
            Self::Month(_) => "time.Month",
            Self::Weekday(_) => "time.Weekday",
            Self::Location(_) => "*time.Location",
            Self::Semver(_) => "*semver.Version",
            Self::SemverValue(_) => "semver.Version",
            Self::Certificate(_) => "sprig.certificate",
        }
    }

    /// The kind as Go's reflection names it.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Nil => "invalid",
            Self::NilAny => "interface",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Month(_) | Self::Weekday(_) => "int",
            Self::Int64(_) | Self::Duration(_) => "int64",
            Self::Uint8(_) => "uint8",
            Self::Uint32(_) => "uint32",
            Self::Uint64(_) => "uint64",
            Self::Float(_) => "float64",
            Self::Complex(..) => "complex128",
            Self::Str(_) | Self::HashAlgorithm(_) => "string",
            Self::List(_) | Self::Chunks(_) | Self::Strings(_) | Self::Ints(_) | Self::Bytes(_) => "slice",
            Self::Map(_) | Self::StrMap(_) => "map",
            Self::Time(_) | Self::SemverValue(_) | Self::Certificate(_) => "struct",
            Self::Location(_) | Self::Semver(_) => "ptr",
        }
    }
}

impl fmt::Debug for Value {
    /// The type alone: values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({})", self.type_name())
    }
}
