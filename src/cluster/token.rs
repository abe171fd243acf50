//! TokenRequest: the one write that returns a secret. It ignores dry run, so nobody calls it in one.

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use kube::api::{Api, PostParams};
use serde_json::Value;
use zeroize::Zeroizing;

use super::{Cluster, Reason, RequestError};

/// A freshly issued token.
pub struct Issued {
    /// The bearer token; wiped when dropped.
    pub token: Zeroizing<String>,
    /// When the server says it expires; may be earlier (or later) than asked.
    pub expires_at: Timestamp,
    /// Claims `iat`, `jti` and `aud`, read locally without verification.
    pub claims: Claims,
}

/// The claims we record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// `jti`.
    pub id: String,
    /// `sub`.
    pub subject: String,
    /// `aud`.
    pub audiences: Vec<String>,
    /// `iat`, seconds since the epoch.
    pub issued_at: i64,
    /// `exp`, seconds since the epoch.
    pub expires_at: i64,
}

/// What to ask for.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Namespace of the account.
    pub namespace: &'a str,
    /// The account.
    pub account: &'a str,
    /// Seconds of life.
    pub seconds: i64,
    /// Audiences; empty means the API server's own.
    pub audiences: &'a [String],
    /// Secret or Pod the token dies with: (kind, name, uid).
    pub bound: Option<(&'a str, &'a str, &'a str)>,
}

/// Issues a token.
///
/// # Errors
/// The server's refusal.
pub async fn issue(cluster: &Cluster, request: &Request<'_>) -> Result<Issued, RequestError> {
    let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> =
        Api::namespaced(cluster.client.clone(), request.namespace);
    let body = TokenRequest {
        spec: Some(TokenRequestSpec {
            audiences: (!request.audiences.is_empty()).then(|| request.audiences.to_vec()),
            expiration_seconds: Some(request.seconds),
            bound_object_ref: request.bound.map(|(kind, name, uid)| BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some(kind.to_owned()),
                name: Some(name.to_owned()),
                uid: (!uid.is_empty()).then(|| uid.to_owned()),
            }),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let object = format!(
        "token of serviceaccount/{} in namespace {:?}",
        request.account, request.namespace
    );
    let params = PostParams::default();
    let call = accounts.create_token_request(request.account, &params, &body);
    let answer = cluster.call("create", &object, call).await?;
    let status = answer.status.unwrap_or_default();
    let (Some(token), Some(expiry)) = (status.token.map(Zeroizing::new), status.expiration_timestamp) else {
        return Err(RequestError::local(
            "create",
            &object,
            &cluster.context,
            Reason::Other,
            "the answer holds no token",
        ));
    };
    let claims = claims_of(&token).unwrap_or_default();
    Ok(Issued {
        expires_at: expiry.0,
        claims,
        token,
    })
}

/// Reads a JWT's claims without verifying it; `None` for anything that is not one.
pub fn claims_of(token: &str) -> Option<Claims> {
    use base64::Engine;
    let payload = token.split('.').nth(1)?;
    let bytes = Zeroizing::new(base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).ok()?);
    let claims: Value = serde_json::from_slice(&bytes).ok()?;
    let text = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let audiences = match claims.get("aud") {
        Some(Value::Array(all)) => all.iter().filter_map(|a| a.as_str().map(str::to_owned)).collect(),
        Some(Value::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    };
    Some(Claims {
        id: text("jti"),
        subject: text("sub"),
        audiences,
        issued_at: claims.get("iat").and_then(Value::as_i64).unwrap_or_default(),
        expires_at: claims.get("exp").and_then(Value::as_i64).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine;

    use super::claims_of;

    #[test]
    fn reads_claims_of_a_jwt_and_nothing_else() {
        let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD
            .encode(br#"{"aud":["a"],"exp":20,"iat":10,"jti":"x","sub":"system:serviceaccount:n:s"}"#);
        let claims = claims_of(&format!("h.{payload}.s")).unwrap();
        assert_eq!(
            (claims.id.as_str(), claims.expires_at, claims.audiences.len()),
            ("x", 20, 1)
        );
        assert!(claims_of("not a token").is_none());
    }
}
