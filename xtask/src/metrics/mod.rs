//! What a run cost: requests at the API servers, processor time and memory of a process.

mod audit;
mod requests;
mod usage;

pub use audit::{AuditEvent, AuditMark, AuditUser, ObjectReference};
pub use requests::RequestCounts;
pub use usage::{PeakSampler, Usage};
