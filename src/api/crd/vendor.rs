//! Stores and generators of vendors: what must be there and which words are known; the rest of their inside is open.
//!
//! A row lists fields, parted by blanks: `name` is a required text, `name:TYPE` a required value of that type, `=A|B` limits
//! the words, `?` marks what may be absent.

use serde_json::{Map, Value, json};

use super::schema::{choice, open_object, text, with};

/// Provider member of a store → its fields.
#[rustfmt::skip]
const PROVIDERS: &[(&str, &str)] = &[
    ("akeyless", "akeylessGWApiURL authSecretRef:object"),
    ("aws", "region service=SecretsManager|ParameterStore|CertificateManager sessionTagsPolicy?=None|Simple|Custom"),
    ("azurekv", "vaultUrl authType?=ServicePrincipal|ManagedIdentity|WorkloadIdentity \
        environmentType?=PublicCloud|USGovernmentCloud|ChinaCloud|GermanCloud|AzureStackCloud"),
    ("barbican", "auth:object"),
    ("beyondtrust", "auth:object server:object"),
    ("beyondtrustworkloadcredentials", "auth:object server:object"),
    ("bitwardensecretsmanager", "auth:object organizationID projectID"),
    ("chef", "auth:object serverUrl username"),
    ("cloudrusm", "auth:object"),
    ("conjur", "auth:object url"),
    ("crd", "resource:object"),
    ("delinea", "clientId:object clientSecret:object tenant"),
    ("doppler", "auth:object format?=json|dotnet-json|env|yaml|docker nameTransformer?=upper-camel|camel|lower-snake|tf-var|dotnet-env|lower-kebab"),
    ("dvls", "auth:object serverUrl"),
    ("github", "appID:integer auth:object installationID:integer organization orgSecretVisibility?=all|private"),
    ("gitlab", "auth:object"),
    ("ibm", "auth:object"),
    ("infisical", "auth:object secretsScope:object"),
    ("keepersecurity", "authRef:object folderID"),
    ("nebiusmysterybox", "apiDomain auth:object"),
    ("ngrok", "auth:object vault:object"),
    ("onboardbase", "auth:object"),
    ("onepassword", "auth:object connectHost vaults:object"),
    ("onepasswordSDK", "auth:object"),
    ("openBao", "server version?=v1|v2"),
    ("oracle", "region vault principalType?=|UserPrincipal|InstancePrincipal|Workload"),
    ("ovh", "auth:object okmsid server"),
    ("passbolt", "auth:object host"),
    ("passworddepot", "auth:object database host"),
    ("previder", "auth:object"),
    ("pulumi", "environment organization project"),
    ("scaleway", "accessKey:object projectId region secretKey:object"),
    ("secretserver", "serverURL"),
    ("senhasegura", "auth:object module url"),
    ("vault", "server version?=v1|v2"),
    ("volcengine", "region"),
    ("yandexcertificatemanager", "auth:object"),
    ("yandexlockbox", "auth:object"),
];

/// Kind of a generator → its fields.
#[rustfmt::skip]
const GENERATORS: &[(&str, &str)] = &[
    ("ACRAccessToken", "auth:object registry environmentType?=PublicCloud|USGovernmentCloud|ChinaCloud|GermanCloud|AzureStackCloud"),
    ("BeyondtrustWorkloadCredentialsDynamicSecret", "provider:object"),
    ("CloudsmithAccessToken", "orgSlug serviceAccountRef:object serviceSlug"),
    ("ECRAuthorizationToken", "region"),
    ("GCRAccessToken", "auth:object projectID"),
    ("GithubAccessToken", "appID auth:object installID"),
    ("GitlabDeployToken", "auth:object name scopes:array"),
    ("Grafana", "auth:object serviceAccount:object url"),
    ("QuayAccessToken", "robotAccount serviceAccountRef:object"),
    ("STSSessionToken", "region"),
    ("VaultDynamicSecret", "path provider:object resultType?=Data|Auth|Raw"),
];

/// The schema of a provider that is known by name.
pub(super) fn provider(key: &str) -> Value {
    lookup(PROVIDERS, key)
}

/// The schema of a generator that needs an account.
pub(super) fn generator(kind: &str) -> Value {
    lookup(GENERATORS, kind)
}

fn lookup(table: &[(&str, &str)], name: &str) -> Value {
    let row = table.iter().find(|(known, _)| *known == name);
    row.map_or_else(open_object, |(_, fields)| schema(fields))
}

fn schema(fields: &str) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in fields.split_ascii_whitespace() {
        let (head, words) = match field.split_once('=') {
            Some((head, words)) => (head, Some(words.split('|').collect::<Vec<_>>())),
            None => (field, None),
        };
        let (name, kind) = head
            .trim_end_matches('?')
            .split_once(':')
            .unwrap_or((head.trim_end_matches('?'), "string"));
        let value = match (&words, kind) {
            (Some(words), _) => choice(words),
            (None, "string") => text(),
            (None, "object") => open_object(),
            (None, "array") => json!({"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": true}}),
            (None, other) => json!({"type": other}),
        };
        properties.insert(name.to_owned(), value);
        if !head.ends_with('?') {
            required.push(name);
        }
    }
    let mut out = with(open_object(), &json!({"properties": properties}));
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{GENERATORS, PROVIDERS, provider};
    use crate::api::generator::GENERATOR_KINDS;
    use crate::api::secret_store::KNOWN_PROVIDERS;

    #[test]
    fn every_row_belongs_to_a_known_name() {
        for (key, _) in PROVIDERS {
            assert!(KNOWN_PROVIDERS.iter().any(|p| p.key == *key), "{key}");
        }
        for (kind, _) in GENERATORS {
            assert!(GENERATOR_KINDS.iter().any(|g| g.kind == *kind), "{kind}");
        }
    }

    #[test]
    fn a_row_becomes_required_fields_words_and_an_open_rest() {
        let vault = provider("vault");
        assert_eq!(vault["required"], json!(["server"]));
        assert_eq!(vault["properties"]["version"]["enum"], json!(["v1", "v2"]));
        assert_eq!(vault["x-kubernetes-preserve-unknown-fields"], json!(true));
        assert_eq!(provider("gcpsm"), super::open_object());
    }
}
