//! The small languages that decide where a value comes from and when it is read again.
//!
//! Every module here answers as the Go library does that the External Secrets Operator calls, errors included, so that
//! a manifest means the same whoever reads it. Pure: no clock, no environment, no IO. `tests/go/lang` holds a Go program
//! that answers the same case tables; the two must agree in every case.

pub mod cron;
pub mod duration;
pub mod gjson;
pub mod gocrypto;
pub mod gojson;
pub mod gotime;
pub mod goyaml;
pub mod jsonpath;
pub mod number;
pub mod regexp;
pub mod unicode;
