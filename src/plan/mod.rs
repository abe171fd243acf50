//! The only language in which a change to a cluster can be said: pure values, shown, approved, then executed by
//! [`crate::cluster`].
