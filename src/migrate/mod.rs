//! Pure: Old manifests in, `external-secrets.io/v1` out.
//!
//! * [`kes`]: kubernetes-external-secrets → External Secrets Operator, conversion and hand-over decisions
//! * [`upgrade`]: stores and `ExternalSecrets` of v1alpha1 or v1beta1 → v1
//! * [`defaults`]: the defaults the API server fills in, so that a written file equals the live object
//! * [`document`]: YAML texts cut into documents without losing comments

pub mod defaults;
pub mod document;
pub mod kes;
pub mod upgrade;
