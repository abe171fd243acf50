//! One exchange with the endpoint: Secrets for templates, expansion, the request, NTLM, the answer's status.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, StatusCode};
use zeroize::Zeroizing;

use super::clients::{ClientKey, Clients};
use super::config::{NtlmConfig, WebhookConfig};
use super::go_url;
use super::ntlm;
use super::template::{Scope, expand};
use crate::api::secret_store::SecretKeySelector;
use crate::cluster::credentials::{Credentials, SecretObject};
use crate::cluster::go_error::{TIMED_OUT, url_error};
use crate::provider::ProviderError;
use crate::provider::http::exchange_text;
use crate::secret::SecretValue;

/// Most bytes of an answer that are read (a Secret holds 1 MiB; a list of candidates may be larger).
const MOST_BYTES: usize = 32 << 20;

/// An endpoint, and with whose eyes its references are read.
pub struct Endpoint {
    /// Its configuration.
    pub config: WebhookConfig,
    /// True for a ClusterSecretStore: references name their namespace.
    pub cluster_scoped: bool,
    /// Namespace of the asking object.
    pub namespace: String,
    /// Reads Secrets of the cluster the store lives in.
    pub credentials: Credentials,
    /// HTTP clients kept between reconciles.
    pub clients: Clients,
    /// Whose clients: kind, namespace and name of the store or generator.
    pub owner: (String, String, String),
    /// CA in PEM instead of the system roots.
    pub ca: Option<Vec<u8>>,
}

/// A request with its templates expanded.
pub struct Prepared {
    method: Method,
    url: String,
    headers: Vec<(String, Zeroizing<Vec<u8>>)>,
    body: Option<Zeroizing<Vec<u8>>>,
}

/// What differs between reading, pushing and asking whether something exists.
pub struct Plan<'a> {
    /// Method if the store names none.
    pub default_method: Method,
    /// Body template if the store has none; empty means no body.
    pub default_body: &'a str,
    /// `remoteRef` values as templates of headers and body see them.
    pub raw: Scope,
    /// The same as the URL's template sees them.
    pub escaped: Scope,
}

impl Endpoint {
    /// Adds the Secrets of `secrets[]` to what templates see.
    pub async fn add_secrets(&self, scope: &mut Scope) -> Result<(), ProviderError> {
        for named in &self.config.secrets {
            let secret = self.labelled_secret(&named.secret_ref).await?;
            let values = scope.entry(named.name.clone()).or_default();
            values.extend(secret.data.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        Ok(())
    }

    /// A Secret that carries the label which allows its use here.
    async fn labelled_secret(
        &self,
        selector: &SecretKeySelector,
    ) -> Result<std::sync::Arc<SecretObject>, ProviderError> {
        let name = &selector.name;
        let namespace = match (&selector.namespace, self.cluster_scoped) {
            (Some(namespace), true) => namespace.as_str(),
            (None, true) => {
                let text = format!("no namespace on ClusterScoped webhook secret {name}");
                return Err(ProviderError::invalid(text));
            }
            (_, false) => self.namespace.as_str(),
        };
        let secret = self.credentials.secret(namespace, name).await;
        let secret = secret.map_err(|failure| {
            ProviderError::other(format!(
                "failed to get clustersecretstore webhook secret {name}: {failure}"
            ))
        })?;
        match secret.labels.get("external-secrets.io/type").map(String::as_str) {
            Some("webhook") => Ok(secret),
            Some(_) => Err(ProviderError::invalid("secret type is not 'webhook'")),
            None => Err(ProviderError::invalid(
                "secret does not contain needed label 'external-secrets.io/type: webhook'. Update secret label to use it with webhook",
            )),
        }
    }

    /// Expands URL, headers and body.
    pub fn prepare(&self, plan: &Plan<'_>) -> Result<Prepared, ProviderError> {
        let failed = |what: &str, error: String| ProviderError::invalid(format!("failed to parse {what}: {error}"));
        let url = expand(&self.config.url, &plan.escaped).map_err(|error| failed("url", error))?;
        let template = if self.config.body.is_empty() {
            plan.default_body
        } else {
            &self.config.body
        };
        let body = match template {
            "" => None,
            text => Some(expand(text, &plan.raw).map_err(|error| failed("body", error))?),
        };
        let mut headers = Vec::new();
        for (name, text) in &self.config.headers {
            let value = expand(text, &plan.raw).map_err(|error| failed(&format!("header {name}"), error))?;
            headers.push((name.clone(), value));
        }
        let method = match self.config.method.as_str() {
            "" => plan.default_method.clone(),
            text => Method::from_bytes(text.as_bytes()).map_err(|_| {
                ProviderError::invalid(format!("failed to create request: net/http: invalid method {text:?}"))
            })?,
        };
        Ok(Prepared {
            method,
            url: String::from_utf8_lossy(&url).into_owned(),
            headers,
            body,
        })
    }

    /// A DELETE of the expanded URL, without a body.
    pub fn prepare_delete(&self, scope: &Scope) -> Result<Prepared, ProviderError> {
        let plan = Plan {
            default_method: Method::DELETE,
            default_body: "",
            raw: scope.clone(),
            escaped: scope.clone(),
        };
        let mut prepared = self.prepare(&plan)?;
        prepared.method = Method::DELETE;
        prepared.body = None;
        Ok(prepared)
    }

    /// Sends a request and reads the answer; every status comes back, only a broken exchange is an error (without prefix).
    pub async fn send(&self, prepared: &Prepared) -> Result<Answer, ProviderError> {
        let url = checked_url(&prepared.url)?;
        let key = ClientKey {
            owner: self.owner.clone(),
            ca: self.ca.clone(),
            ntlm: self.config.ntlm().is_some(),
            timeout: self.config.time_limit(),
        };
        let client = self.clients.get(key).map_err(ProviderError::invalid)?;
        let headers = header_map(prepared)?;
        match self.config.ntlm() {
            Some(ntlm) => self.send_ntlm(&client, prepared, url, headers, ntlm).await,
            None => send_once(&client, prepared, url, headers).await,
        }
    }

    /// Anonymous first; on 401 NTLM if the server offers it, else Basic.
    async fn send_ntlm(
        &self,
        client: &reqwest::Client,
        prepared: &Prepared,
        url: reqwest::Url,
        mut headers: HeaderMap,
        config: &NtlmConfig,
    ) -> Result<Answer, ProviderError> {
        let user = self.ntlm_value(&config.username_secret).await?;
        let password = self.ntlm_value(&config.password_secret).await?;
        headers.remove(AUTHORIZATION);
        let first = send_once(client, prepared, url.clone(), headers.clone()).await?;
        if first.status != StatusCode::UNAUTHORIZED {
            return Ok(first);
        }
        let Some(scheme) = first.ntlm_scheme() else {
            let basic = Zeroizing::new(format!(
                "Basic {}",
                STANDARD.encode(Zeroizing::new(format!("{}:{}", &*user, &*password)))
            ));
            headers.insert(AUTHORIZATION, sensitive(&basic)?);
            return send_once(client, prepared, url, headers).await;
        };
        headers.insert(
            AUTHORIZATION,
            sensitive(&format!("{scheme} {}", STANDARD.encode(ntlm::negotiate())))?,
        );
        let second = send_once(client, prepared, url.clone(), headers.clone()).await?;
        let Some(challenge) = second.challenge(scheme) else {
            return Ok(second);
        };
        let challenge =
            ntlm::Challenge::parse(&challenge).map_err(|error| call_failed(prepared, &error.to_string()))?;
        let account = ntlm::Account::new(&user, password);
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).map_err(|_| call_failed(prepared, "no randomness"))?;
        let message = ntlm::authenticate(&account, &challenge, nonce, file_time(SystemTime::now()));
        headers.insert(
            AUTHORIZATION,
            sensitive(&format!("{scheme} {}", STANDARD.encode(&*message)))?,
        );
        send_once(client, prepared, url, headers).await
    }

    /// A missing key gives an empty text, as in ESO.
    async fn ntlm_value(&self, selector: &SecretKeySelector) -> Result<Zeroizing<String>, ProviderError> {
        let secret = self.labelled_secret(selector).await?;
        let value = secret
            .data
            .get(&selector.key)
            .map(SecretValue::expose)
            .unwrap_or_default();
        Ok(Zeroizing::new(String::from_utf8_lossy(value).into_owned()))
    }
}

/// A Windows file time: 100 ns since 1601.
fn file_time(now: SystemTime) -> u64 {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default() + Duration::from_secs(11_644_473_600);
    u64::try_from(since.as_nanos() / 100).unwrap_or(u64::MAX)
}

/// What the endpoint answered.
pub struct Answer {
    /// Status.
    pub status: StatusCode,
    /// Status as Go prints it: `404 Not Found`.
    pub status_text: String,
    /// Body.
    pub body: Zeroizing<Vec<u8>>,
    offers: Vec<String>,
}

impl Answer {
    /// The body, or ESO's error for this status.
    pub fn into_body(self) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
        match self.status.as_u16() {
            404 => Err(ProviderError::no_secret()),
            304 => Err(ProviderError::other("not modified")),
            200..=299 => Ok(self.body),
            code => {
                let message = format!("endpoint gave error {}", self.status_text);
                Err(match code {
                    401 | 403 => ProviderError::Denied { message },
                    429 => ProviderError::Throttled { message, after: None },
                    _ => ProviderError::Other { message },
                })
            }
        }
    }

    fn ntlm_scheme(&self) -> Option<&'static str> {
        let offers = |scheme: &str| {
            self.offers.iter().any(|offer| {
                offer
                    .get(..scheme.len())
                    .is_some_and(|head| head.eq_ignore_ascii_case(scheme))
            })
        };
        ["Negotiate", "NTLM"].into_iter().find(|scheme| offers(scheme))
    }

    fn challenge(&self, scheme: &str) -> Option<Vec<u8>> {
        self.offers.iter().find_map(|offer| {
            let (head, text) = offer.split_once(' ')?;
            if head.eq_ignore_ascii_case(scheme) {
                STANDARD.decode(text.trim()).ok()
            } else {
                None
            }
        })
    }
}

async fn send_once(
    client: &reqwest::Client,
    prepared: &Prepared,
    url: reqwest::Url,
    headers: HeaderMap,
) -> Result<Answer, ProviderError> {
    let mut request = client.request(prepared.method.clone(), url).headers(headers);
    if let Some(body) = &prepared.body {
        request = request.body(body.to_vec());
    }
    let mut response = match request.send().await {
        Ok(response) => response,
        Err(error) => return Err(call_failed(prepared, &exchange_text(&error, &prepared.url).await)),
    };
    let status = response.status();
    let status_text = status_text(status, response.extensions());
    let texts = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let offers = texts
        .filter_map(|value| value.to_str().ok().map(str::to_owned))
        .collect();
    let mut body = Zeroizing::new(Vec::new());
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > MOST_BYTES => {
                let message = format!("answer is larger than {MOST_BYTES} bytes");
                return Err(ProviderError::Transport { message });
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(error) if error.is_timeout() => {
                let cause = "context deadline exceeded (Client.Timeout or context cancellation while reading body)";
                return Err(ProviderError::Transport {
                    message: cause.to_owned(),
                });
            }
            Err(_) => {
                return Err(ProviderError::Transport {
                    message: "unexpected EOF".to_owned(),
                });
            }
        }
    }
    Ok(Answer {
        status,
        status_text,
        body,
        offers,
    })
}

fn call_failed(prepared: &Prepared, cause: &str) -> ProviderError {
    let url = url_without_password(&prepared.url);
    let message = url_error(prepared.method.as_str(), &url, cause);
    if cause == TIMED_OUT || prepared.method != Method::CONNECT {
        return ProviderError::Transport { message };
    }
    ProviderError::Other { message }
}

/// Go shows a password inside a URL as `***`.
fn url_without_password(url: &str) -> String {
    let Ok(mut parsed) = reqwest::Url::parse(url) else {
        return url.to_owned();
    };
    if parsed.password().is_some() && parsed.set_password(Some("***")).is_ok() {
        parsed.to_string()
    } else {
        url.to_owned()
    }
}

/// The URL, by Go's rules first and ours second.
fn checked_url(text: &str) -> Result<reqwest::Url, ProviderError> {
    let failed = |error: String| ProviderError::invalid(format!("failed to create request: {error}"));
    let parsed = go_url::parse(text).map_err(failed)?;
    let unsupported = |problem: String| {
        ProviderError::invalid(format!("failed to call endpoint: {}", url_error("GET", text, &problem)))
    };
    if !matches!(parsed.scheme.as_str(), "http" | "https") {
        return Err(unsupported(format!("unsupported protocol scheme {:?}", parsed.scheme)));
    }
    if parsed.host.is_empty() {
        return Err(unsupported("http: no Host in request URL".to_owned()));
    }
    // A blank in the query makes a request line no server takes; Go sends it all the same.
    if parsed
        .rest
        .split_once('?')
        .is_some_and(|(_, query)| query.contains(' '))
    {
        return Err(ProviderError::other("endpoint gave error 400 Bad Request"));
    }
    reqwest::Url::parse(text).map_err(|error| failed(format!("parse {text:?}: {error}")))
}

/// Headers as Go would send them: what the client sets itself is left out, white space around a value is cut off.
fn header_map(prepared: &Prepared) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &prepared.headers {
        if ["host", "content-length", "transfer-encoding", "trailer"]
            .iter()
            .any(|own| name.eq_ignore_ascii_case(own))
        {
            continue;
        }
        let failed = |what: &str| {
            let cause = format!("net/http: invalid header field {what}");
            ProviderError::invalid(format!("failed to call endpoint: {}", call_failed(prepared, &cause)))
        };
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| failed(&format!("name {name:?}")))?;
        let mut parsed_value =
            HeaderValue::from_bytes(value.trim_ascii()).map_err(|_| failed(&format!("value for {name:?}")))?;
        parsed_value.set_sensitive(true);
        headers.append(parsed, parsed_value);
    }
    Ok(headers)
}

fn sensitive(text: &str) -> Result<HeaderValue, ProviderError> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| ProviderError::invalid("net/http: invalid header field value for \"Authorization\""))?;
    value.set_sensitive(true);
    Ok(value)
}

fn status_text(status: StatusCode, extensions: &http::Extensions) -> String {
    let said = extensions
        .get::<hyper::ext::ReasonPhrase>()
        .map(|phrase| String::from_utf8_lossy(phrase.as_bytes()));
    match said.as_deref().or(status.canonical_reason()) {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{checked_url, url_without_password};

    #[test]
    fn urls_that_cannot_be_called() {
        for (text, error) in [
            (
                "{{ x",
                "failed to call endpoint: Get \"{{ x\": unsupported protocol scheme \"\"",
            ),
            (
                "ftp://a.test/x",
                "failed to call endpoint: Get \"ftp://a.test/x\": unsupported protocol scheme \"ftp\"",
            ),
            (
                "http://a b/",
                "failed to create request: parse \"http://a b/\": invalid character \" \" in host name",
            ),
            (
                "http:///x",
                "failed to call endpoint: Get \"http:///x\": http: no Host in request URL",
            ),
            ("http://a.test/?k=<no value>", "endpoint gave error 400 Bad Request"),
        ] {
            assert_eq!(checked_url(text).unwrap_err().to_string(), error);
        }
        assert!(checked_url("http://a.test/<no value>").is_ok());
    }

    #[test]
    fn passwords_in_urls_are_hidden() {
        assert_eq!(
            url_without_password("http://u:hunter2@a.test/x"),
            "http://u:***@a.test/x"
        );
    }
}
