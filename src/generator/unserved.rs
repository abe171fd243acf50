//! Generators that need an account at a service this build does not speak to.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;

use super::{Entry, GenerateRequest, Generated, GeneratorError};

/// A row whose generator answers with a clear error, and whose clean-up refuses to claim that anything was revoked.
pub const fn entry(kind: &'static str) -> Entry {
    Entry {
        kind,
        generate,
        clean_up,
    }
}

fn generate(request: GenerateRequest<'_>) -> BoxFuture<'_, Result<Generated, GeneratorError>> {
    futures::future::ready(Err(refusal(&request))).boxed()
}

fn clean_up<'a>(request: GenerateRequest<'a>, _: &'a Value) -> BoxFuture<'a, Result<(), GeneratorError>> {
    futures::future::ready(Err(refusal(&request))).boxed()
}

fn refusal(request: &GenerateRequest<'_>) -> GeneratorError {
    let kind = request.object.get("kind").and_then(Value::as_str).unwrap_or_default();
    GeneratorError::new(format!(
        "generator kind {kind} is known to the External Secrets Operator but not served by kubectl-eso"
    ))
}
