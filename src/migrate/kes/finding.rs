//! What a conversion has to say: a code, a severity that follows from it, a place and a sentence.

use std::fmt;

use serde::{Serialize, Serializer};

/// How serious a finding is. The first letter of the code says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A note: the result is right, the text was changed.
    Info,
    /// Look at it: the result can differ, or something was left out.
    Warning,
    /// The object is refused; nothing is written for it.
    Error,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The finding codes, `I_` note, `W_` look at it, `E_` object refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The code as it stands in reports.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }
        }
    };
}

codes! {
    /// A field name of an older release was read.
    LegacyField = "I_LEGACY_FIELD",
    /// A property was rewritten to the path syntax ESO reads.
    PropertyPath = "I_PROPERTY_PATH",
    /// Both `versionId` and `versionStage`; KES uses the id.
    VersionIdWins = "I_VERSION_ID_WINS",
    /// A Vault key kept whole, because ESO would strip its start.
    VaultKeyVerbatim = "I_VAULT_KEY_VERBATIM",
    /// Several Vault mounts in one object; the store has no path.
    VaultNoPath = "I_VAULT_NO_PATH",
    /// `payload` of an arbitrary IBM secret is what ESO returns by itself.
    IbmPayload = "I_IBM_PAYLOAD",
    /// A template key that KES overwrites anyway.
    TemplateKeyShadowed = "I_TEMPLATE_KEY_SHADOWED",
    /// Two entries with one name; the last is kept.
    DuplicateName = "I_DUPLICATE_NAME",
    /// A number or boolean in a template was written as text.
    TemplateValueText = "I_TEMPLATE_VALUE_TEXT",
    /// `isBinary` of `dataFromWithOptions` never had an effect.
    IsBinaryIgnored = "W_ISBINARY_IGNORED",
    /// AWS binary secrets are not decoded a second time by KES.
    BinaryAws = "W_BINARY_AWS",
    /// A whole JSON object read from Vault; bytes may differ.
    WholeJson = "W_WHOLE_JSON",
    /// A `path` entry after a keyed one; a clash resolves differently.
    PathOrder = "W_PATH_ORDER",
    /// Recursive paths may hold equal base names.
    BasenameCollision = "W_BASENAME_COLLISION",
    /// The instance filter has no counterpart on an `ExternalSecret`.
    ControllerId = "W_CONTROLLER_ID",
    /// The object belongs to another KES instance.
    ControllerIdMismatch = "W_CONTROLLER_ID_MISMATCH",
    /// Polling is off; the result refreshes on change only.
    PollingDisabled = "W_POLLING_DISABLED",
    /// The interval is a guess, because no controller facts are known.
    RefreshDefault = "W_REFRESH_DEFAULT",
    /// An option the backend does not know.
    OptionNotForBackend = "W_OPTION_NOT_FOR_BACKEND",
    /// No Google project is known.
    ProjectIdMissing = "W_PROJECT_ID_MISSING",
    /// A template field without counterpart.
    TemplateFieldDropped = "W_TEMPLATE_FIELD_DROPPED",
    /// A template reads a key that no entry produces.
    TemplateUnknownKey = "W_TEMPLATE_UNKNOWN_KEY",
    /// Go prints object keys sorted.
    TemplateKeyOrder = "W_TEMPLATE_KEY_ORDER",
    /// The two YAML writers quote differently.
    TemplateYaml = "W_TEMPLATE_YAML",
    /// KES writes IBM API keys with JSON quotes.
    IbmIamQuotes = "W_IBM_IAM_QUOTES",
    /// A credential exists only as a plain environment value.
    CredentialInEnv = "W_CREDENTIAL_IN_ENV",
    /// KES trusts an additional CA.
    CustomCa = "W_CUSTOM_CA",
    /// KES talks to another endpoint.
    EndpointOverride = "W_ENDPOINT_OVERRIDE",
    /// Namespace annotations limit roles or keys.
    NamespacePolicy = "W_NAMESPACE_POLICY",
    /// The backend has no provider in ESO.
    BackendUnsupported = "E_BACKEND_UNSUPPORTED",
    /// ESO needs an AWS region.
    RegionMissing = "E_REGION_MISSING",
    /// A KV 2 key without `/data/`.
    VaultPath = "E_VAULT_PATH",
    /// A key Azure never accepted.
    AzureKey = "E_AZURE_KEY",
    /// A secret by name needs its group.
    IbmGroup = "E_IBM_GROUP",
    /// A template expression outside the convertible subset.
    TemplateUnsupported = "E_TEMPLATE_UNSUPPORTED",
    /// A Secret type ESO refuses.
    TypeForbidden = "E_TYPE_FORBIDDEN",
    /// The live Secret has another type.
    TypeMismatch = "E_TYPE_MISMATCH",
    /// Nothing to fetch.
    NoSources = "E_NO_SOURCES",
    /// The object is not valid.
    Schema = "E_SCHEMA",
}

impl Code {
    /// Severity by the first letter.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self.as_str().as_bytes()[0] {
            b'I' => Severity::Info,
            b'W' => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which rule.
    pub code: Code,
    /// Follows from the code.
    pub severity: Severity,
    /// JSONPath-like place: in the KES object, or `controller.…` for facts of the controller.
    pub path: String,
    /// One sentence, without any secret value.
    pub message: String,
}

/// Findings of one object, in the order they were made, each code and path once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// Adds a finding unless the same code stands at the same place already.
    pub fn add(&mut self, code: Code, path: impl Into<String>, message: impl Into<String>) {
        let path = path.into();
        if self.0.iter().any(|f| f.code == code && f.path == path) {
            return;
        }
        self.0.push(Finding {
            code,
            severity: code.severity(),
            path,
            message: message.into(),
        });
    }

    /// True when at least one finding refuses the object.
    #[must_use]
    pub fn refused(&self) -> bool {
        self.0.iter().any(|f| f.severity == Severity::Error)
    }

    /// Appends findings of somebody else by the same rule.
    pub fn extend(&mut self, other: Findings) {
        for f in other.0 {
            self.add(f.code, f.path, f.message);
        }
    }

    /// The findings.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    /// The findings as a list.
    #[must_use]
    pub fn into_vec(self) -> Vec<Finding> {
        self.0
    }
}
