//! The HTTP client behind chart downloads.

use std::time::Duration;

use super::charts::{Answer, ChartSources, Download};
use super::{ChartArgs, named_file};
use crate::cli::error::CliError;
use crate::provider::http::{HttpSettings, Proxies, client, exchange_text};
use crate::secret::SecretValue;

/// How long one download may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Downloads over HTTP with the system's roots or the CA given.
pub(super) struct Http {
    client: reqwest::Client,
}

impl Http {
    /// A client by the flags.
    ///
    /// # Errors
    /// An unreadable or empty CA file.
    pub(super) fn new(args: &ChartArgs) -> Result<Self, CliError> {
        let ca = args.helm_ca_file.as_deref().map(named_file).transpose()?;
        let settings = HttpSettings {
            ca: ca.as_ref().map(|file| file.bytes.as_slice()),
            proxies: Proxies::Environment,
            http2: true,
            timeout: TIMEOUT,
            single_connection: false,
        };
        let client = client(&settings).map_err(|e| {
            CliError::usage("cannot reach chart repositories")
                .cause(e)
                .hint("check the file of --helm-ca-file")
        })?;
        Ok(Self { client })
    }
}

impl Download for Http {
    async fn get(&self, url: &str, headers: &[(&'static str, String)], limit: u64) -> Result<Answer, String> {
        let mut request = self.client.get(url);
        for (name, value) in headers {
            let mut value = http::HeaderValue::from_str(value).map_err(|_| format!("{name} is no header value"))?;
            value.set_sensitive(*name == "authorization");
            request = request.header(*name, value);
        }
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Err(exchange_text(&error, url).await),
        };
        let challenge = response
            .headers()
            .get("www-authenticate")
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let status = response.status().as_u16();
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if (body.len() + chunk.len()) as u64 > limit => {
                    return Err(format!("the answer is longer than {limit} bytes"));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => return Err(exchange_text(&error, url).await),
            }
        }
        Ok(Answer {
            status,
            challenge,
            body,
        })
    }
}

/// Where charts come from, by the flags.
///
/// # Errors
/// An unreadable password file.
pub(super) fn sources(args: &ChartArgs) -> Result<ChartSources, CliError> {
    let authorization = match (&args.helm_username, &args.helm_password_file, &args.helm_repo_url) {
        (Some(user), Some(path), Some(prefix)) => {
            let password = named_file(path)?.bytes;
            Some((prefix.clone(), basic(user, password)))
        }
        _ => None,
    };
    Ok(ChartSources {
        cache: args.chart_cache.clone(),
        offline: args.offline,
        plain_http: args.helm_basic_http,
        authorization,
    })
}

/// The header of basic authentication (RFC 7617); a line break at the end of the file is not part of the password.
fn basic(user: &str, password: Vec<u8>) -> SecretValue {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let password = zeroize::Zeroizing::new(password);
    let mut pair = zeroize::Zeroizing::new(format!("{user}:").into_bytes());
    pair.extend_from_slice(password.trim_ascii_end());
    let encoded = zeroize::Zeroizing::new(STANDARD.encode(&*pair));
    SecretValue::from(format!("Basic {}", *encoded))
}
