//! Pure: Taking Secrets over from KES without changing their name, their UID or a byte of them.
//!
//! Every function maps what was read from the cluster to what has to be done next. Nothing is remembered between two
//! decisions: a run that was stopped anywhere reads the cluster again and goes on.
//!
//! ```text
//! plan ─▶ stores ─▶ shadow (compare) ─▶ stop KES ─▶ per Secret: release ─▶ apply ─▶ wait ─▶ check
//!                                                          rollback ◀─ on failure        └─▶ cleanup, later
//! ```
//!
//! The order is the safety: KES is stopped first, because it would put its owner reference back and wipe foreign
//! labels; the owner reference goes before any KES object does, because the garbage collector deletes what the object
//! owns; and ESO adopts only what nobody else controls.

pub mod adopt;
pub mod cleanup;
pub mod fingerprint;
pub mod observed;
pub mod plan;
pub mod rollback;
pub mod shadow;
pub mod step;
pub mod verify;

#[cfg(test)]
mod tests;
