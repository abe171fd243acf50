//! Every name, label and annotation the program puts into clusters, written once.

/// Label key that marks what we made.
pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Its value.
pub const MANAGED_BY: &str = "kubectl-eso";
/// Label with the cluster id of the downstream an object belongs to.
pub const LABEL_CLUSTER: &str = "kubectl-eso/cluster";
/// Label that says which part of the set-up an object is.
pub const LABEL_PART: &str = "kubectl-eso/part";

/// Annotation on the token Secret: when the token expires, RFC 3339.
pub const ANNOTATION_EXPIRES: &str = "kubectl-eso/expires-at";
/// Annotation on the token Secret: when it was issued, RFC 3339.
pub const ANNOTATION_ISSUED: &str = "kubectl-eso/issued-at";
/// Annotation on the token Secret and the anchor: generation number.
pub const ANNOTATION_GENERATION: &str = "kubectl-eso/generation";
/// Annotation on the token Secret: the token's `jti`, for the upstream's audit log.
pub const ANNOTATION_TOKEN_ID: &str = "kubectl-eso/token-id";
/// Annotation on the token Secret: UID of the upstream's `kube-system`.
pub const ANNOTATION_HUB: &str = "kubectl-eso/hub";
/// Annotation on the identity: UID of the downstream's `kube-system`.
pub const ANNOTATION_CLUSTER_UID: &str = "kubectl-eso/cluster-uid";
/// Annotation on an anchor: `namespace/name` of the downstream Secret its token is for.
pub const ANNOTATION_TARGET: &str = "kubectl-eso/target";

/// Default namespace of the source Secrets.
pub const DATA_NAMESPACE: &str = "eso-data";
/// Namespace of the accounts and anchors of all downstreams.
pub const IDENTITY_NAMESPACE: &str = "eso-identities";
/// Namespace of credentials for pushing.
pub const PUSH_NAMESPACE: &str = "eso-push";
/// Account, Role and RoleBinding downstream through which the upstream pushes.
pub const PUSH_ACCOUNT: &str = "upstream-push";
/// The shared reader Role.
pub const READER_ROLE: &str = "eso-store-role";
/// The shared account, its binding, and the store downstream.
pub const STORE: &str = "upstream-store";
/// The token Secret downstream; its key is `token`.
pub const TOKEN_SECRET: &str = "upstream-token";
/// The CA ConfigMap downstream; its key is `ca.crt`.
pub const CA_CONFIG_MAP: &str = "upstream-ca";
/// Type of an anchor Secret, which holds no data.
pub const ANCHOR_TYPE: &str = "kubectl-eso/token-anchor";
/// The Lease that keeps two runs apart.
pub const LEASE: &str = "kubectl-eso";

/// The part labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// ServiceAccount, Role, RoleBinding.
    Identity,
    /// Marker Secret of one token generation.
    Anchor,
    /// Token Secret and CA.
    Credential,
    /// SecretStore or ClusterSecretStore.
    Store,
    /// Source Secret or ExternalSecret made on request.
    Request,
}

impl Part {
    /// Label value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Anchor => "anchor",
            Self::Credential => "credential",
            Self::Store => "store",
            Self::Request => "request",
        }
    }
}
