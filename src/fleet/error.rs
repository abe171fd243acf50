//! Everything that can go wrong between a directory and a Bundle.
use super::yaml11::YamlError;

/// Errors of the `fleet` room. Messages are fragments; the source is never part of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// A file of the caller is not readable YAML.
    #[error("cannot read {file}")]
    Yaml {
        /// Path as the user knows it.
        file: String,
        /// What the reader said.
        #[source]
        source: YamlError,
    },
    /// A file is not UTF-8 where text is needed.
    #[error("{file} is not valid UTF-8")]
    NotText {
        /// Path as the user knows it.
        file: String,
    },
    /// A key that no version of the format has.
    #[error("{file}:{line}: unknown key `{key}` in {place}{}", suggestion.as_ref().map(|s| format!(" (did you mean `{s}`?)")).unwrap_or_default())]
    UnknownKey {
        /// Path as the user knows it.
        file: String,
        /// Line of the key.
        line: usize,
        /// The key.
        key: String,
        /// Dotted path of the mapping it stands in.
        place: String,
        /// The nearest known key.
        suggestion: Option<String>,
    },
    /// A value of the wrong type.
    #[error("{file}:{line}: {place} must be {expected}")]
    WrongType {
        /// Path as the user knows it.
        file: String,
        /// Line of the value.
        line: usize,
        /// Dotted path of the value.
        place: String,
        /// The type in plain words.
        expected: &'static str,
    },
    /// A `dependsOn` entry names nothing or a state that does not exist.
    #[error("{file}: dependsOn[{index}] {problem}")]
    DependsOn {
        /// Path as the user knows it.
        file: String,
        /// Position in the list.
        index: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// `imageScans` need a controller feature this command does not write.
    #[error("{file} lists imageScans")]
    ImageScans {
        /// Path as the user knows it.
        file: String,
    },
    /// No directory gave any resource.
    #[error("no resource found at the following paths to deploy: {}", dirs.join(", "))]
    NothingFound {
        /// Directories as typed.
        dirs: Vec<String>,
    },
    /// A directory, values file or options file is missing.
    #[error("{path} does not exist")]
    Missing {
        /// Path as the user knows it.
        path: String,
    },
    /// A directory stands where a file is needed.
    #[error("{path} is a directory")]
    IsDirectory {
        /// Path as the user knows it.
        path: String,
    },
    /// A symbolic link leads out of the bundle's directory.
    #[error("symlink {path}: target escapes the bundle directory")]
    LinkEscapes {
        /// Path of the link.
        path: String,
    },
    /// A symbolic link leads nowhere.
    #[error("symlink {path}: target does not exist")]
    LinkBroken {
        /// Path of the link.
        path: String,
    },
    /// A shell pattern with an unfinished class or escape.
    #[error("invalid pattern `{pattern}`")]
    Pattern {
        /// The pattern.
        pattern: String,
    },
    /// `DIR:FILE:MORE` in a driven scan.
    #[error("invalid bundle path `{path}`")]
    DrivenPath {
        /// The argument as typed.
        path: String,
    },
    /// Two directories give bundles of one name.
    #[error("{first} and {second} both make the bundle `{name}`")]
    NameCollision {
        /// The shared name.
        name: String,
        /// Directory of the first.
        first: String,
        /// Directory of the second.
        second: String,
    },
    /// A label that is not `key=value`.
    #[error("label `{label}` is not of the form key=value")]
    Label {
        /// The argument as typed.
        label: String,
    },
    /// A chart in the tree that Helm would not load.
    #[error("{path}: {problem}")]
    ChartFile {
        /// Path of its `Chart.yaml`.
        path: String,
        /// What Helm would say.
        problem: String,
    },
    /// Chart options that name no downloadable chart.
    #[error("{what} cannot be downloaded: {problem}")]
    Chart {
        /// repo, chart and version in words.
        what: String,
        /// Why.
        problem: String,
    },
    /// A chart archive that is unsafe or broken.
    #[error("archive of {what}: {problem}")]
    Archive {
        /// Chart in words.
        what: String,
        /// Why it was refused.
        problem: String,
    },
    /// Resource content in an encoding nobody knows, or not in the encoding it names.
    #[error("resource {name}: content does not decode as `{encoding}`")]
    Content {
        /// Resource name.
        name: String,
        /// Encoding named by the resource.
        encoding: String,
    },
    /// Files that look like credentials.
    #[error("{} would put secret material into a bundle", findings.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    SecretContent {
        /// Where and what kind; never the value.
        findings: Vec<super::scan::Finding>,
    },
    /// An object of the wrong shape was given to a parsing function.
    #[error("{object}: {problem}")]
    Object {
        /// `Kind namespace/name`.
        object: String,
        /// What is missing or wrong.
        problem: String,
    },
    /// A kubeconfig that this program refuses to use.
    #[error("kubeconfig of {cluster}: {problem}")]
    Kubeconfig {
        /// Cluster it belongs to.
        cluster: String,
        /// What is refused; never a value.
        problem: String,
    },
    /// Options that exclude each other or miss a part.
    #[error("{0}")]
    Usage(String),
}

/// A remark for the user that does not stop the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// `W_YAML11`: a scalar that YAML 1.2 readers take for something else.
    Yaml11 {
        /// File as the user knows it.
        file: String,
        /// Line of the scalar.
        line: usize,
        /// Scalar as written. Values files may hold anything, so the text is only kept for words and numbers.
        text: String,
    },
    /// A key that only matches without regard to case.
    KeyCase {
        /// File as the user knows it.
        file: String,
        /// Line of the key.
        line: usize,
        /// Key as written.
        key: String,
        /// Its proper form.
        known: &'static str,
    },
    /// An unknown key was ignored (`--lenient`).
    IgnoredKey {
        /// File as the user knows it.
        file: String,
        /// Line of the key.
        line: usize,
        /// The key.
        key: String,
    },
    /// A directory made no bundle because nothing in it is shipped.
    NoResources {
        /// The directory.
        dir: String,
    },
    /// A directory argument that matches nothing.
    NoMatch {
        /// The argument as typed.
        argument: String,
    },
    /// An absolute path: the bundle is named after its last element.
    AbsolutePath {
        /// Path as typed.
        dir: String,
    },
    /// A bundle without targets goes to the cluster group `default`, which exists only in `fleet-local`.
    DefaultTarget {
        /// The bundle.
        bundle: String,
        /// Its namespace.
        namespace: String,
    },
    /// The bundle was compressed because its plain form reached the threshold.
    Compressed {
        /// The bundle.
        bundle: String,
        /// Bytes of its plain JSON form.
        bytes: usize,
    },
    /// The object passes a size limit.
    Size(super::size::SizeNotice),
    /// A chart's dependency is neither in `charts/` nor was it fetched.
    MissingDependency {
        /// Directory of the chart.
        chart: String,
        /// Name of the dependency.
        dependency: String,
    },
    /// Restrictions and real targets differ in number, so options move between the two groups.
    Restrictions {
        /// The bundle.
        bundle: String,
        /// Number of restrictions.
        restrictions: usize,
        /// Number of targets that stand for clusters.
        targets: usize,
    },
    /// `helm.chart` as `oci://…` is deprecated in favour of `helm.repo`.
    OciChart {
        /// File as the user knows it.
        file: String,
    },
    /// An ExternalSecret without `spec.target.template` passes its labels on to the Secret.
    LabelLeak {
        /// File and object.
        file: String,
    },
    /// Objects of an API version that current operators no longer serve.
    OldApi {
        /// File.
        file: String,
        /// The `apiVersion`.
        version: String,
    },
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Yaml11 { file, line, text } => {
                write!(
                    f,
                    "W_YAML11 {file}:{line}: `{text}` is read by YAML 1.1 rules, as Fleet reads it; quote it to keep it as text"
                )
            }
            Self::KeyCase { file, line, key, known } => write!(f, "{file}:{line}: key `{key}` is read as `{known}`"),
            Self::IgnoredKey { file, line, key } => write!(f, "{file}:{line}: unknown key `{key}` ignored"),
            Self::NoResources { dir } => write!(f, "{dir}: no resources found to deploy"),
            Self::NoMatch { argument } => write!(f, "{argument} matches no directory"),
            Self::AbsolutePath { dir } => write!(f, "{dir} is absolute: the bundle is named after its last element"),
            Self::DefaultTarget { bundle, namespace } => {
                write!(
                    f,
                    "bundle {bundle} has no targets: only the cluster group `default` of namespace {namespace} is addressed"
                )
            }
            Self::Compressed { bundle, bytes } => {
                write!(f, "bundle {bundle} is {bytes} bytes in plain form and was compressed")
            }
            Self::Size(notice) => notice.fmt(f),
            Self::MissingDependency { chart, dependency } => {
                write!(
                    f,
                    "chart {chart}: dependency {dependency} is missing from charts/ and was not fetched"
                )
            }
            Self::Restrictions {
                bundle,
                restrictions,
                targets,
            } => write!(
                f,
                "bundle {bundle}: {restrictions} targetRestrictions but {targets} targets from the targets file; Fleet takes the last {restrictions} targets as real ones"
            ),
            Self::OciChart { file } => write!(
                f,
                "{file}: helm.chart with an oci:// address is deprecated, use helm.repo"
            ),
            Self::LabelLeak { file } => {
                write!(
                    f,
                    "{file}: an ExternalSecret without spec.target.template copies Fleet's and Helm's ownership marks to its Secret"
                )
            }
            Self::OldApi { file, version } => write!(
                f,
                "{file}: {version} is not served by current External Secrets operators, use external-secrets.io/v1"
            ),
        }
    }
}
