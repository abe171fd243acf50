//! Rancher Fleet: bundles from directories, as `fleet apply -o -` makes them, and Fleet's own objects.
//!
//! ```text
//! files in memory ── prepare ──► missing files, charts to fetch ──► build ──► Bundles + notices
//! ```
//!
//! Nothing here reads a disk, a network or a clock: the `cli` room fills a [`tree::Tree`], fetches what
//! [`prepare::Prepared`] asks for and prints what comes out.
pub mod argocd;
pub mod build;
pub mod chart;
pub mod clusters;
pub mod collect;
pub mod decode;
pub mod dependencies;
pub mod discover;
pub mod effect;
pub mod emit;
pub mod encode;
pub mod error;
pub mod gojson;
pub mod ignore;
pub mod install;
pub mod kubeconfig;
pub mod manifests;
pub mod names;
mod object;
pub mod oci;
pub mod options;
pub mod pattern;
pub mod prepare;
pub mod scan;
pub mod schema;
pub mod size;
pub mod status;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod values_doc;
pub mod version;
pub mod wait;
pub mod yaml11;
