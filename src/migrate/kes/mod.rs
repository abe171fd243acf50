//! Pure: kubernetes-external-secrets (KES) → External Secrets Operator.
//!
//! ```text
//! documents ──object──▶ Source ──convert──▶ stores + ExternalSecrets + findings ──output──▶ files, report
//! live objects ──handover──▶ steps, one decision at a time
//! ```
//!
//! * [`options`]: facts about the KES controller and the user's choices
//! * [`facts`]: the same facts read off a KES Deployment
//! * [`object`]: one KES object, legacy field names resolved
//! * [`convert`]: the conversion; [`property`], [`backend`], [`entries`], [`target`], [`store`] are its parts
//! * [`js`], [`template`]: lodash templates → Go templates
//! * [`output`]: streams, file trees, in-place edits, reports
//! * [`consumers`]: who reads a Secret
//! * [`policy`]: namespace permissions as an admission policy
//! * [`handover`]: plan, verify, hand over, roll back, clean up, each as a pure decision

pub mod backend;
pub mod base64;
pub mod consumers;
pub mod convert;
pub mod entries;
pub mod facts;
pub mod finding;
pub mod handover;
pub mod js;
pub mod object;
pub mod options;
pub mod output;
pub mod policy;
pub mod property;
pub mod store;
pub mod target;
pub mod template;

#[cfg(test)]
mod tests;
