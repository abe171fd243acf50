//! Fetches the charts that bundles name; what an answer means is decided in the `fleet` room.
use std::path::PathBuf;

use crate::fleet::chart::{Archive, ChartRequest, Fetch, MAX_UNPACKED};
use crate::fleet::error::FleetError;
use crate::fleet::oci;
use crate::fleet::tree::Tree;

/// An HTTP answer. Redirects were followed, credentials never to another host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// `WWW-Authenticate`, when there is one.
    pub challenge: Option<String>,
    /// Body, no longer than asked for.
    pub body: Vec<u8>,
}

/// The HTTP client of the program, as far as it is needed here.
pub trait Download {
    /// GET with headers; fails when the body is longer than `limit` bytes.
    fn get(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
        limit: u64,
    ) -> impl Future<Output = Result<Answer, String>> + Send;
}

/// Where charts may come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChartSources {
    /// Directory of archives that were fetched before.
    pub cache: Option<PathBuf>,
    /// Only the cache.
    pub offline: bool,
    /// OCI registries are reached without TLS.
    pub plain_http: bool,
    /// `Authorization` header for addresses that start with a prefix.
    pub authorization: Option<(String, crate::secret::SecretValue)>,
}

/// Why a chart could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ChartsError {
    /// Options or content are wrong.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// No connection, or the server broke off.
    #[error("cannot download {url}: {problem}")]
    Transport {
        /// Address without a query.
        url: String,
        /// The client's words.
        problem: String,
    },
    /// Another status than 200.
    #[error("cannot download {url}: the server answered {status}")]
    Status {
        /// Address without a query.
        url: String,
        /// Status code.
        status: u16,
    },
    /// A registry's answer makes no sense, or a digest is wrong.
    #[error("{what}: {problem}")]
    Registry {
        /// Repository.
        what: String,
        /// What is wrong.
        problem: String,
    },
    /// Offline and not in the cache.
    #[error("{what} is not in the chart cache")]
    NotCached {
        /// Chart in words.
        what: String,
    },
    /// The cache directory is not usable.
    #[error("cannot use the chart cache at {path}")]
    Cache {
        /// Path of the file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Fetches one chart and unpacks it, from the cache where it is there.
///
/// # Errors
/// See [`ChartsError`].
pub async fn fetch(request: &ChartRequest, http: &impl Download, sources: &ChartSources) -> Result<Tree, ChartsError> {
    let cached = sources.cache.as_ref().map(|dir| dir.join(cache_name(request)));
    let cache_error = |path: &PathBuf, source| ChartsError::Cache {
        path: path.display().to_string(),
        source,
    };
    if let Some(path) = &cached {
        match std::fs::read(path) {
            Ok(bytes) => return Ok(cached_archive(request).unpack(&bytes)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(cache_error(path, error)),
        }
    }
    if sources.offline {
        return Err(ChartsError::NotCached {
            what: request.to_string(),
        });
    }
    let (archive, bytes) = download(request, http, sources).await?;
    let tree = archive.unpack(&bytes)?;
    // A folder inside the archive is not kept apart in the cache, so such archives are not cached.
    if let Some(path) = cached.filter(|_| archive.subdir.is_empty() && archive.format.ends_with("gz")) {
        std::fs::write(&path, &bytes).map_err(|source| cache_error(&path, source))?;
    }
    Ok(tree)
}

/// File name of a chart in the cache: the hash of its options, as in the resource prefix.
fn cache_name(request: &ChartRequest) -> String {
    format!("{}.tgz", request.prefix().trim_start_matches(".chart/"))
}

fn cached_archive(request: &ChartRequest) -> Archive {
    Archive {
        url: cache_name(request),
        format: ".tgz".to_owned(),
        ..Archive::default()
    }
}

async fn download(
    request: &ChartRequest,
    http: &impl Download,
    sources: &ChartSources,
) -> Result<(Archive, Vec<u8>), ChartsError> {
    let archive = match request.fetch()? {
        Fetch::Index(url) => request.archive_url(&get(http, sources, &url, &[]).await?)?,
        Fetch::Archive(archive) => archive,
        Fetch::Oci(reference) => return from_registry(request, &reference, http, sources).await,
    };
    let bytes = get(http, sources, &archive.url, &[]).await?;
    Ok((archive, bytes))
}

async fn get(
    http: &impl Download,
    sources: &ChartSources,
    url: &str,
    headers: &[(&'static str, String)],
) -> Result<Vec<u8>, ChartsError> {
    let answer = ask(http, url, &with_authorization(sources, url, headers)).await?;
    if answer.status == 200 {
        Ok(answer.body)
    } else {
        Err(ChartsError::Status {
            url: shown(url),
            status: answer.status,
        })
    }
}

fn with_authorization(
    sources: &ChartSources,
    url: &str,
    headers: &[(&'static str, String)],
) -> Vec<(&'static str, String)> {
    let mut headers = headers.to_vec();
    if let Some((prefix, value)) = &sources.authorization
        && url.starts_with(prefix.as_str())
        && let Ok(value) = std::str::from_utf8(value.expose())
    {
        headers.push(("authorization", value.to_owned()));
    }
    headers
}

async fn ask(http: &impl Download, url: &str, headers: &[(&'static str, String)]) -> Result<Answer, ChartsError> {
    let answer = http.get(url, headers, MAX_UNPACKED).await;
    answer.map_err(|problem| ChartsError::Transport {
        url: shown(url),
        problem,
    })
}

/// Queries may hold credentials.
fn shown(url: &str) -> String {
    let url = url.split('?').next().unwrap_or(url);
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}{}", &url[..scheme + 3], &url[at + 1..]),
        _ => url.to_owned(),
    }
}

async fn from_registry(
    request: &ChartRequest,
    reference: &str,
    http: &impl Download,
    sources: &ChartSources,
) -> Result<(Archive, Vec<u8>), ChartsError> {
    let wrong = |problem: &str| ChartsError::Registry {
        what: reference.to_owned(),
        problem: problem.to_owned(),
    };
    let repository = oci::Repository::parse(reference).ok_or_else(|| wrong("no registry and repository"))?;
    let mut session = Session {
        http,
        sources,
        token: None,
    };
    let url = |path: &str| repository.url(path, sources.plain_http);
    let tag = if let Some(tag) = oci::exact_tag(&request.version) {
        tag
    } else {
        let list = session.get(&url("tags/list?n=10000"), &[]).await?;
        oci::select_tag(&list, &request.version).ok_or_else(|| wrong("has no tag of such a version"))?
    };
    let accept = [("accept", oci::MANIFEST.to_owned())];
    let manifest = session.get(&url(&format!("manifests/{tag}")), &accept).await?;
    let digest = oci::chart_digest(&manifest).ok_or_else(|| wrong("its manifest names no chart"))?;
    let bytes = session.get(&url(&format!("blobs/{digest}")), &[]).await?;
    if !oci::verify(&bytes, &digest) {
        return Err(wrong("the archive does not have the digest of the manifest"));
    }
    Ok((
        Archive {
            url: format!("oci://{reference}:{tag}"),
            format: ".tgz".to_owned(),
            ..Archive::default()
        },
        bytes,
    ))
}

/// One conversation with a registry; the token it hands out is used for the rest.
struct Session<'a, H> {
    http: &'a H,
    sources: &'a ChartSources,
    token: Option<String>,
}

impl<H: Download> Session<'_, H> {
    async fn get(&mut self, url: &str, headers: &[(&'static str, String)]) -> Result<Vec<u8>, ChartsError> {
        let mut sent = self.headers(url, headers);
        let mut answer = ask(self.http, url, &sent).await?;
        if answer.status == 401
            && self.token.is_none()
            && let Some(token_url) = answer.challenge.as_deref().and_then(oci::token_url)
        {
            let body = get(self.http, self.sources, &token_url, &[]).await?;
            let reply: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
            let token = ["token", "access_token"]
                .iter()
                .find_map(|key| reply.get(*key)?.as_str());
            self.token = token.map(|token| format!("Bearer {token}"));
            sent = self.headers(url, headers);
            answer = ask(self.http, url, &sent).await?;
        }
        if answer.status == 200 {
            Ok(answer.body)
        } else {
            Err(ChartsError::Status {
                url: shown(url),
                status: answer.status,
            })
        }
    }

    fn headers(&self, url: &str, headers: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
        match &self.token {
            Some(token) => headers
                .iter()
                .cloned()
                .chain([("authorization", token.clone())])
                .collect(),
            None => with_authorization(self.sources, url, headers),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write as _;
    use std::sync::Mutex;

    use super::{Answer, ChartSources, ChartsError, Download, fetch, shown};
    use crate::fleet::chart::ChartRequest;
    use crate::fleet::names;

    /// A server of fixed answers that notes what it was asked.
    #[derive(Default)]
    struct Server {
        answers: BTreeMap<String, Answer>,
        asked: Mutex<Vec<String>>,
    }

    impl Server {
        fn with(mut self, url: &str, body: &[u8]) -> Self {
            self.answers.insert(
                url.to_owned(),
                Answer {
                    status: 200,
                    challenge: None,
                    body: body.to_vec(),
                },
            );
            self
        }
    }

    impl Download for Server {
        async fn get(&self, url: &str, headers: &[(&'static str, String)], _: u64) -> Result<Answer, String> {
            let authorization = headers
                .iter()
                .find(|(key, _)| *key == "authorization")
                .map_or("", |(_, value)| value.as_str());
            self.asked
                .lock()
                .unwrap()
                .push(format!("{url} {authorization}").trim_end().to_owned());
            if url.starts_with("https://reg/v2/") && authorization != "Bearer t" {
                let challenge =
                    Some(r#"Bearer realm="https://auth/token",service="reg",scope="repository:x/m:pull""#.to_owned());
                return Ok(Answer {
                    status: 401,
                    challenge,
                    body: Vec::new(),
                });
            }
            Ok(self.answers.get(url).cloned().unwrap_or(Answer {
                status: 404,
                ..Answer::default()
            }))
        }
    }

    fn ready<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        match future
            .as_mut()
            .poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
        {
            std::task::Poll::Ready(value) => value,
            std::task::Poll::Pending => panic!("the fixed server answers at once"),
        }
    }

    fn chart() -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        let text = b"apiVersion: v2\nname: m\nversion: 1.2.3\n";
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, "m/Chart.yaml", &text[..]).unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(&tar.into_inner().unwrap()).unwrap();
        gz.finish().unwrap()
    }

    fn request(chart: &str, repo: &str, version: &str) -> ChartRequest {
        ChartRequest {
            chart: chart.to_owned(),
            repo: repo.to_owned(),
            version: version.to_owned(),
        }
    }

    #[test]
    fn a_repository_is_asked_for_its_index_and_the_cache_answers_next_time() {
        let index = "entries: {m: [{version: 1.2.3, urls: [files/m.tgz]}]}\n";
        let server = Server::default()
            .with("https://repo/stable/index.yaml", index.as_bytes())
            .with("https://repo/stable/files/m.tgz", &chart());
        let dir = tempfile::tempdir().unwrap();
        let mut sources = ChartSources {
            cache: Some(dir.path().to_owned()),
            ..ChartSources::default()
        };
        let wanted = request("m", "https://repo/stable/", "~1.2");
        let tree = ready(fetch(&wanted, &server, &sources)).unwrap();
        assert!(tree.get("m/Chart.yaml").is_some());
        sources.offline = true;
        assert_eq!(ready(fetch(&wanted, &Server::default(), &sources)).unwrap(), tree);
        assert!(matches!(
            ready(fetch(&request("z", "https://repo", ""), &server, &sources)),
            Err(ChartsError::NotCached { .. })
        ));
        assert_eq!(server.asked.lock().unwrap().len(), 2);
    }

    #[test]
    fn a_registry_hands_out_a_token_and_its_digest_is_checked() {
        let digest = format!("sha256:{}", names::sha256_hex(&chart()));
        let manifest = format!(
            r#"{{"layers":[{{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip","digest":"{digest}"}}]}}"#
        );
        let serve = |blob: &[u8]| {
            Server::default()
                .with(
                    "https://auth/token?service=reg&scope=repository%3Ax%2Fm%3Apull",
                    br#"{"token":"t"}"#,
                )
                .with(
                    "https://reg/v2/x/m/tags/list?n=10000",
                    br#"{"tags":["1.2.3","1.3.0-rc.1","1.2.1"]}"#,
                )
                .with("https://reg/v2/x/m/manifests/1.2.3", manifest.as_bytes())
                .with(&format!("https://reg/v2/x/m/blobs/{digest}"), blob)
        };
        let server = serve(&chart());
        let tree = ready(fetch(
            &request("", "oci://reg/x/m", "^1"),
            &server,
            &ChartSources::default(),
        ))
        .unwrap();
        assert!(tree.get("m/Chart.yaml").is_some());
        assert_eq!(
            server
                .asked
                .lock()
                .unwrap()
                .iter()
                .filter(|line| line.starts_with("https://auth"))
                .count(),
            1
        );
        assert!(matches!(
            ready(fetch(
                &request("", "oci://reg/x/m", "1.2.3"),
                &serve(b"other"),
                &ChartSources::default()
            )),
            Err(ChartsError::Registry { .. })
        ));
    }

    #[test]
    fn credentials_only_go_where_they_belong_and_are_not_shown() {
        let sources = ChartSources {
            authorization: Some((
                "https://repo/".to_owned(),
                crate::secret::SecretValue::new(b"Basic hush".to_vec()),
            )),
            ..ChartSources::default()
        };
        let server = Server::default();
        for repo in ["https://repo/a", "https://other/https://repo/"] {
            let error = ready(fetch(&request("m", repo, ""), &server, &sources)).unwrap_err();
            assert!(
                matches!(error, ChartsError::Status { status: 404, .. })
                    && !format!("{error} {error:?}").contains("hush")
            );
        }
        let asked = server.asked.lock().unwrap().clone();
        assert_eq!(
            asked,
            [
                "https://repo/a/index.yaml Basic hush",
                "https://other/https:/repo/index.yaml"
            ]
        );
        assert_eq!(shown("https://u:p@h/x?sig=1"), "https://h/x");
    }
}
