//! Secret material on its way from a provider to a template: pure, byte-exact, never printed.
//!
//! `remoteRef → SecretValue → SecretData → template`. Every stage takes its input by value, so that a value can be
//! wiped where it was last owned.

pub mod convert;
pub mod decode;
pub mod extract;
pub mod null_bytes;
pub mod pipeline;
pub mod rewrite;
pub mod value;

use std::collections::BTreeMap;

pub use value::SecretValue;

/// Key → value, in byte order of the keys, as ESO merges provider answers (a Go map printed sorted).
pub type SecretData = BTreeMap<String, SecretValue>;
