//! Which fields the API server fills in, by group and kind: what the CRDs of ESO 2.9 say, and what Kubernetes does for
//! its own kinds. `[]` stands for every element of a list; values are JSON.

/// A field and its default, filled in when the field's parent exists.
pub type Default = (&'static str, &'static str);

/// `ExternalSecret`.
pub const EXTERNAL_SECRET: &[Default] = &[
    (
        "/spec/data/[]/sourceRef/generatorRef/apiVersion",
        r#""generators.external-secrets.io/v1alpha1""#,
    ),
    ("/spec/dataFrom/[]/rewrite/[]/merge/conflictPolicy", r#""Error""#),
    ("/spec/dataFrom/[]/rewrite/[]/merge/into", r#""""#),
    ("/spec/dataFrom/[]/rewrite/[]/merge/priorityPolicy", r#""Strict""#),
    ("/spec/dataFrom/[]/rewrite/[]/merge/strategy", r#""Extract""#),
    (
        "/spec/dataFrom/[]/sourceRef/generatorRef/apiVersion",
        r#""generators.external-secrets.io/v1alpha1""#,
    ),
    ("/spec/refreshInterval", r#""1h0m0s""#),
    (
        "/spec/target",
        r#"{"creationPolicy": "Owner", "deletionPolicy": "Retain"}"#,
    ),
    ("/spec/target/creationPolicy", r#""Owner""#),
    ("/spec/target/deletionPolicy", r#""Retain""#),
    ("/spec/target/template/engineVersion", r#""v2""#),
    ("/spec/target/template/mergePolicy", r#""Replace""#),
    (
        "/spec/target/template/templateFrom/[]/configMap/items/[]/templateAs",
        r#""Values""#,
    ),
    (
        "/spec/target/template/templateFrom/[]/secret/items/[]/templateAs",
        r#""Values""#,
    ),
    ("/spec/target/template/templateFrom/[]/target", r#""Data""#),
];

/// `ClusterExternalSecret`.
pub const CLUSTER_EXTERNAL_SECRET: &[Default] = &[
    (
        "/spec/externalSecretSpec/data/[]/sourceRef/generatorRef/apiVersion",
        r#""generators.external-secrets.io/v1alpha1""#,
    ),
    (
        "/spec/externalSecretSpec/dataFrom/[]/rewrite/[]/merge/conflictPolicy",
        r#""Error""#,
    ),
    ("/spec/externalSecretSpec/dataFrom/[]/rewrite/[]/merge/into", r#""""#),
    (
        "/spec/externalSecretSpec/dataFrom/[]/rewrite/[]/merge/priorityPolicy",
        r#""Strict""#,
    ),
    (
        "/spec/externalSecretSpec/dataFrom/[]/rewrite/[]/merge/strategy",
        r#""Extract""#,
    ),
    (
        "/spec/externalSecretSpec/dataFrom/[]/sourceRef/generatorRef/apiVersion",
        r#""generators.external-secrets.io/v1alpha1""#,
    ),
    ("/spec/externalSecretSpec/refreshInterval", r#""1h0m0s""#),
    (
        "/spec/externalSecretSpec/target",
        r#"{"creationPolicy": "Owner", "deletionPolicy": "Retain"}"#,
    ),
    ("/spec/externalSecretSpec/target/creationPolicy", r#""Owner""#),
    ("/spec/externalSecretSpec/target/deletionPolicy", r#""Retain""#),
    ("/spec/externalSecretSpec/target/template/engineVersion", r#""v2""#),
    ("/spec/externalSecretSpec/target/template/mergePolicy", r#""Replace""#),
    (
        "/spec/externalSecretSpec/target/template/templateFrom/[]/configMap/items/[]/templateAs",
        r#""Values""#,
    ),
    (
        "/spec/externalSecretSpec/target/template/templateFrom/[]/secret/items/[]/templateAs",
        r#""Values""#,
    ),
    (
        "/spec/externalSecretSpec/target/template/templateFrom/[]/target",
        r#""Data""#,
    ),
];

/// `SecretStore` and `ClusterSecretStore`.
pub const STORE: &[Default] = &[
    ("/spec/provider/aws/sessionTagsPolicy", r#""None""#),
    ("/spec/provider/azurekv/authType", r#""ServicePrincipal""#),
    ("/spec/provider/azurekv/environmentType", r#""PublicCloud""#),
    ("/spec/provider/azurekv/useAzureSDK", "false"),
    ("/spec/provider/beyondtrust/server/decrypt", "true"),
    ("/spec/provider/crd/server/url", r#""kubernetes.default""#),
    ("/spec/provider/doppler/auth/oidcConfig/expirationSeconds", "600"),
    ("/spec/provider/gcpsm/secretVersionSelectionPolicy", r#""LatestOrFail""#),
    ("/spec/provider/github/url", r#""https://github.com/""#),
    ("/spec/provider/infisical/hostAPI", r#""https://app.infisical.com/api""#),
    ("/spec/provider/infisical/secretsScope/expandSecretReferences", "true"),
    ("/spec/provider/infisical/secretsScope/recursive", "false"),
    ("/spec/provider/infisical/secretsScope/secretsPath", r#""/""#),
    ("/spec/provider/kubernetes/remoteNamespace", r#""default""#),
    ("/spec/provider/kubernetes/server/url", r#""kubernetes.default""#),
    ("/spec/provider/ngrok/apiUrl", r#""https://api.ngrok.com""#),
    (
        "/spec/provider/onboardbase/apiHost",
        r#""https://public.onboardbase.com/api/v1/""#,
    ),
    ("/spec/provider/onboardbase/environment", r#""development""#),
    ("/spec/provider/onboardbase/project", r#""development""#),
    ("/spec/provider/onepasswordSDK/cache/maxSize", "100"),
    ("/spec/provider/onepasswordSDK/cache/ttl", r#""5m""#),
    (
        "/spec/provider/onepasswordSDK/integrationInfo/name",
        r#""1Password SDK""#,
    ),
    ("/spec/provider/onepasswordSDK/integrationInfo/version", r#""v1.0.0""#),
    ("/spec/provider/openBao/auth/appRole/path", r#""approle""#),
    ("/spec/provider/openBao/auth/userPass/path", r#""userpass""#),
    ("/spec/provider/openBao/version", r#""v2""#),
    ("/spec/provider/ovh/okmsTimeout", "30"),
    ("/spec/provider/pulumi/apiUrl", r#""https://api.pulumi.com/api/esc""#),
    ("/spec/provider/pulumi/auth/oidcConfig/expirationSeconds", "600"),
    ("/spec/provider/senhasegura/ignoreSslCertificate", "false"),
    ("/spec/provider/vault/auth/appRole/path", r#""approle""#),
    ("/spec/provider/vault/auth/cert/path", r#""cert""#),
    ("/spec/provider/vault/auth/gcp/path", r#""gcp""#),
    ("/spec/provider/vault/auth/jwt/path", r#""jwt""#),
    ("/spec/provider/vault/auth/kubernetes/mountPath", r#""kubernetes""#),
    ("/spec/provider/vault/auth/ldap/path", r#""ldap""#),
    ("/spec/provider/vault/auth/userPass/path", r#""userpass""#),
    ("/spec/provider/vault/version", r#""v2""#),
];

/// `PushSecret`.
pub const PUSH_SECRET: &[Default] = &[
    ("/spec/data/[]/conversionStrategy", r#""None""#),
    ("/spec/dataTo/[]/conversionStrategy", r#""None""#),
    ("/spec/dataTo/[]/storeRef/kind", r#""SecretStore""#),
    ("/spec/deletionPolicy", r#""None""#),
    ("/spec/refreshInterval", r#""1h0m0s""#),
    ("/spec/secretStoreRefs/[]/kind", r#""SecretStore""#),
    (
        "/spec/selector/generatorRef/apiVersion",
        r#""generators.external-secrets.io/v1alpha1""#,
    ),
    ("/spec/template/engineVersion", r#""v2""#),
    ("/spec/template/mergePolicy", r#""Replace""#),
    (
        "/spec/template/templateFrom/[]/configMap/items/[]/templateAs",
        r#""Values""#,
    ),
    (
        "/spec/template/templateFrom/[]/secret/items/[]/templateAs",
        r#""Values""#,
    ),
    ("/spec/template/templateFrom/[]/target", r#""Data""#),
    ("/spec/updatePolicy", r#""Replace""#),
];

/// `ClusterPushSecret`.
pub const CLUSTER_PUSH_SECRET: &[Default] = &[
    ("/spec/pushSecretSpec/data/[]/conversionStrategy", r#""None""#),
    ("/spec/pushSecretSpec/dataTo/[]/conversionStrategy", r#""None""#),
    ("/spec/pushSecretSpec/dataTo/[]/storeRef/kind", r#""SecretStore""#),
    ("/spec/pushSecretSpec/deletionPolicy", r#""None""#),
    ("/spec/pushSecretSpec/refreshInterval", r#""1h0m0s""#),
    ("/spec/pushSecretSpec/secretStoreRefs/[]/kind", r#""SecretStore""#),
    (
        "/spec/pushSecretSpec/selector/generatorRef/apiVersion",
        r#""generators.external-secrets.io/v1alpha1""#,
    ),
    ("/spec/pushSecretSpec/template/engineVersion", r#""v2""#),
    ("/spec/pushSecretSpec/template/mergePolicy", r#""Replace""#),
    (
        "/spec/pushSecretSpec/template/templateFrom/[]/configMap/items/[]/templateAs",
        r#""Values""#,
    ),
    (
        "/spec/pushSecretSpec/template/templateFrom/[]/secret/items/[]/templateAs",
        r#""Values""#,
    ),
    ("/spec/pushSecretSpec/template/templateFrom/[]/target", r#""Data""#),
    ("/spec/pushSecretSpec/updatePolicy", r#""Replace""#),
];

/// Generator `ACRAccessToken`.
pub const GENERATOR_ACRACCESS_TOKEN: &[Default] = &[("/spec/environmentType", r#""PublicCloud""#)];

/// Generator `ClusterGenerator`.
pub const GENERATOR_CLUSTER_GENERATOR: &[Default] = &[
    ("/spec/generator/acrAccessTokenSpec/environmentType", r#""PublicCloud""#),
    ("/spec/generator/passwordSpec/allowRepeat", "false"),
    ("/spec/generator/passwordSpec/encoding", r#""raw""#),
    ("/spec/generator/passwordSpec/length", "24"),
    ("/spec/generator/passwordSpec/noUpper", "false"),
    ("/spec/generator/sshKeySpec/keyType", r#""rsa""#),
    ("/spec/generator/vaultDynamicSecretSpec/allowEmptyResponse", "false"),
    (
        "/spec/generator/vaultDynamicSecretSpec/provider/auth/appRole/path",
        r#""approle""#,
    ),
    (
        "/spec/generator/vaultDynamicSecretSpec/provider/auth/cert/path",
        r#""cert""#,
    ),
    (
        "/spec/generator/vaultDynamicSecretSpec/provider/auth/gcp/path",
        r#""gcp""#,
    ),
    (
        "/spec/generator/vaultDynamicSecretSpec/provider/auth/jwt/path",
        r#""jwt""#,
    ),
    (
        "/spec/generator/vaultDynamicSecretSpec/provider/auth/kubernetes/mountPath",
        r#""kubernetes""#,
    ),
    (
        "/spec/generator/vaultDynamicSecretSpec/provider/auth/ldap/path",
        r#""ldap""#,
    ),
    (
        "/spec/generator/vaultDynamicSecretSpec/provider/auth/userPass/path",
        r#""userpass""#,
    ),
    ("/spec/generator/vaultDynamicSecretSpec/provider/version", r#""v2""#),
    ("/spec/generator/vaultDynamicSecretSpec/resultType", r#""Data""#),
];

/// Generator `Password`.
pub const GENERATOR_PASSWORD: &[Default] = &[
    ("/spec/allowRepeat", "false"),
    ("/spec/encoding", r#""raw""#),
    ("/spec/length", "24"),
    ("/spec/noUpper", "false"),
];

/// Generator `SSHKey`.
pub const GENERATOR_SSHKEY: &[Default] = &[("/spec/keyType", r#""rsa""#)];

/// Generator `VaultDynamicSecret`.
pub const GENERATOR_VAULT_DYNAMIC_SECRET: &[Default] = &[
    ("/spec/allowEmptyResponse", "false"),
    ("/spec/provider/auth/appRole/path", r#""approle""#),
    ("/spec/provider/auth/cert/path", r#""cert""#),
    ("/spec/provider/auth/gcp/path", r#""gcp""#),
    ("/spec/provider/auth/jwt/path", r#""jwt""#),
    ("/spec/provider/auth/kubernetes/mountPath", r#""kubernetes""#),
    ("/spec/provider/auth/ldap/path", r#""ldap""#),
    ("/spec/provider/auth/userPass/path", r#""userpass""#),
    ("/spec/provider/version", r#""v2""#),
    ("/spec/resultType", r#""Data""#),
];

/// `Secret`.
pub const SECRET: &[Default] = &[("/type", r#""Opaque""#)];

/// `RoleBinding` and `ClusterRoleBinding`.
pub const ROLE_BINDING: &[Default] = &[("/roleRef/apiGroup", r#""rbac.authorization.k8s.io""#)];

/// `Deployment`.
pub const DEPLOYMENT: &[Default] = &[
    ("/spec/progressDeadlineSeconds", "600"),
    ("/spec/replicas", "1"),
    ("/spec/revisionHistoryLimit", "10"),
    ("/spec/strategy", "{}"),
    ("/spec/strategy/type", r#""RollingUpdate""#),
    ("/spec/template/spec/dnsPolicy", r#""ClusterFirst""#),
    ("/spec/template/spec/restartPolicy", r#""Always""#),
    ("/spec/template/spec/schedulerName", r#""default-scheduler""#),
    ("/spec/template/spec/securityContext", "{}"),
    ("/spec/template/spec/terminationGracePeriodSeconds", "30"),
    ("/spec/template/spec/containers/[]/resources", "{}"),
    (
        "/spec/template/spec/containers/[]/terminationMessagePath",
        r#""/dev/termination-log""#,
    ),
    (
        "/spec/template/spec/containers/[]/terminationMessagePolicy",
        r#""File""#,
    ),
    ("/spec/template/spec/containers/[]/ports/[]/protocol", r#""TCP""#),
    (
        "/spec/template/spec/containers/[]/env/[]/valueFrom/fieldRef/apiVersion",
        r#""v1""#,
    ),
    ("/spec/template/spec/containers/[]/livenessProbe/failureThreshold", "3"),
    ("/spec/template/spec/containers/[]/livenessProbe/periodSeconds", "10"),
    ("/spec/template/spec/containers/[]/livenessProbe/successThreshold", "1"),
    ("/spec/template/spec/containers/[]/livenessProbe/timeoutSeconds", "1"),
    ("/spec/template/spec/containers/[]/livenessProbe/httpGet/path", r#""/""#),
    (
        "/spec/template/spec/containers/[]/livenessProbe/httpGet/scheme",
        r#""HTTP""#,
    ),
    ("/spec/template/spec/containers/[]/readinessProbe/failureThreshold", "3"),
    ("/spec/template/spec/containers/[]/readinessProbe/periodSeconds", "10"),
    ("/spec/template/spec/containers/[]/readinessProbe/successThreshold", "1"),
    ("/spec/template/spec/containers/[]/readinessProbe/timeoutSeconds", "1"),
    (
        "/spec/template/spec/containers/[]/readinessProbe/httpGet/path",
        r#""/""#,
    ),
    (
        "/spec/template/spec/containers/[]/readinessProbe/httpGet/scheme",
        r#""HTTP""#,
    ),
    ("/spec/template/spec/containers/[]/startupProbe/failureThreshold", "3"),
    ("/spec/template/spec/containers/[]/startupProbe/periodSeconds", "10"),
    ("/spec/template/spec/containers/[]/startupProbe/successThreshold", "1"),
    ("/spec/template/spec/containers/[]/startupProbe/timeoutSeconds", "1"),
    ("/spec/template/spec/containers/[]/startupProbe/httpGet/path", r#""/""#),
    (
        "/spec/template/spec/containers/[]/startupProbe/httpGet/scheme",
        r#""HTTP""#,
    ),
    ("/spec/template/spec/volumes/[]/secret/defaultMode", "420"),
    ("/spec/template/spec/volumes/[]/configMap/defaultMode", "420"),
    ("/spec/template/spec/volumes/[]/projected/defaultMode", "420"),
    (
        "/spec/template/spec/volumes/[]/projected/sources/[]/serviceAccountToken/expirationSeconds",
        "3600",
    ),
];

/// `CustomResourceDefinition`.
pub const CUSTOM_RESOURCE_DEFINITION: &[Default] = &[("/spec/conversion", r#"{"strategy": "None"}"#)];

/// `ValidatingAdmissionPolicy`.
pub const VALIDATING_ADMISSION_POLICY: &[Default] = &[
    ("/spec/failurePolicy", r#""Fail""#),
    ("/spec/matchConstraints/matchPolicy", r#""Equivalent""#),
    ("/spec/matchConstraints/namespaceSelector", "{}"),
    ("/spec/matchConstraints/objectSelector", "{}"),
    ("/spec/matchConstraints/resourceRules/[]/scope", r#""*""#),
];

/// `ValidatingAdmissionPolicyBinding`.
pub const VALIDATING_ADMISSION_POLICY_BINDING: &[Default] = &[
    ("/spec/matchResources/matchPolicy", r#""Equivalent""#),
    ("/spec/matchResources/namespaceSelector", "{}"),
    ("/spec/matchResources/objectSelector", "{}"),
    ("/spec/matchResources/resourceRules/[]/scope", r#""*""#),
];

/// The table of a kind; empty when the API server fills in nothing.
#[must_use]
pub fn of(group: &str, kind: &str) -> &'static [Default] {
    match (group, kind) {
        ("external-secrets.io", "ExternalSecret") => EXTERNAL_SECRET,
        ("external-secrets.io", "ClusterExternalSecret") => CLUSTER_EXTERNAL_SECRET,
        ("external-secrets.io", "SecretStore" | "ClusterSecretStore") => STORE,
        ("external-secrets.io", "PushSecret") => PUSH_SECRET,
        ("external-secrets.io", "ClusterPushSecret") => CLUSTER_PUSH_SECRET,
        ("generators.external-secrets.io", "ACRAccessToken") => GENERATOR_ACRACCESS_TOKEN,
        ("generators.external-secrets.io", "ClusterGenerator") => GENERATOR_CLUSTER_GENERATOR,
        ("generators.external-secrets.io", "Password") => GENERATOR_PASSWORD,
        ("generators.external-secrets.io", "SSHKey") => GENERATOR_SSHKEY,
        ("generators.external-secrets.io", "VaultDynamicSecret") => GENERATOR_VAULT_DYNAMIC_SECRET,
        ("", "Secret") => SECRET,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => ROLE_BINDING,
        ("apps", "Deployment") => DEPLOYMENT,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => CUSTOM_RESOURCE_DEFINITION,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => VALIDATING_ADMISSION_POLICY,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => VALIDATING_ADMISSION_POLICY_BINDING,
        _ => &[],
    }
}
