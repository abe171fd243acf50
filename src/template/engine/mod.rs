//! The template language: text in, bytes out. It has never heard of Kubernetes.
pub mod ast;
pub mod eval;
pub mod failure;
pub mod format;
pub mod functions;
pub mod lex;
pub mod meter;
pub mod numbers;
pub mod parse;
pub mod template;
pub mod utf8;
pub mod value;

pub use failure::Failure;
pub use functions::{Env, ParamType, RandomSource, Row};
pub use eval::MissingKey;
pub use template::{Error, Options, Stage, Template, root_value};
pub use value::{Certificate, List, Map, Str, StringList, StringMap, Value};
