//! The fields of Fleet's file formats, as data.
//!
//! Source of names and types: the `fleet.cattle.io/v1alpha1` API of Fleet 0.16. One table serves the
//! check for unknown keys, the types, the JSON form (what is left out when empty) and the one oddity of
//! the original's reader: a number becomes text only where no inlined struct lies on the way.

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Text; left out when empty.
    Text,
    /// Text that is printed even when empty.
    TextAlways,
    /// A boolean; left out when false.
    Bool,
    /// A boolean whose absence differs from false.
    BoolSet,
    /// A whole number; left out when zero.
    Int,
    /// A whole number whose absence differs from zero.
    IntSet,
    /// A whole number or text such as `25%`.
    IntOrText,
    /// A map of text to text; left out when empty.
    TextMap,
    /// A list of such maps.
    TextMaps,
    /// A list of text; left out when empty.
    TextList,
    /// An object; kept when present, even empty.
    Object(&'static Schema),
    /// A list of objects; left out when empty.
    List(&'static Schema),
    /// Helm values: any map; numbers pass through a double.
    Values,
    /// Known to the format but without effect on the spec.
    Other,
}

/// One field: its JSON name and what it holds.
pub type Field = (&'static str, Kind);

/// A struct: its own fields and the structs inlined into it.
#[derive(Debug)]
pub struct Schema {
    /// Fields declared in the struct itself.
    pub own: &'static [Field],
    /// Inlined structs; own fields hide theirs.
    pub inlined: &'static [&'static Schema],
}

impl Schema {
    /// The field named `name` exactly, or without regard to case; true when it is the struct's own.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<(&'static Field, bool)> {
        let exact = |known: &str| known == name;
        self.find(&exact)
            .or_else(|| self.find(&|known| known.eq_ignore_ascii_case(name)))
    }

    fn find(&self, wanted: &dyn Fn(&str) -> bool) -> Option<(&'static Field, bool)> {
        if let Some(field) = self.own.iter().find(|field| wanted(field.0)) {
            return Some((field, true));
        }
        self.inlined
            .iter()
            .find_map(|schema| schema.find(wanted))
            .map(|(field, _)| (field, false))
    }

    /// All names, for suggestions.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self.own.iter().map(|field| field.0).collect();
        for schema in self.inlined {
            names.extend(schema.names());
        }
        names
    }
}

/// `fleet.yaml`: a bundle spec with a few keys of its own and an object's metadata.
pub static FLEET_YAML: Schema = Schema {
    own: &[
        ("targetCustomizations", Kind::List(&TARGET)),
        ("imageScans", Kind::Other),
        ("overrideTargets", Kind::List(&RESTRICTION)),
    ],
    inlined: &[&BUNDLE_SPEC, &METADATA],
};

/// `Bundle.spec`; a targets file is read as one, and only its targets and restrictions count.
pub static BUNDLE_SPEC: Schema = Schema {
    own: &[
        ("paused", Kind::Bool),
        ("rolloutStrategy", Kind::Object(&ROLLOUT)),
        ("resources", Kind::Other),
        ("targetCustomizationMode", Kind::Text),
        ("targets", Kind::List(&TARGET)),
        ("targetRestrictions", Kind::List(&RESTRICTION)),
        ("dependsOn", Kind::List(&BUNDLE_REF)),
        ("contentsId", Kind::Text),
        ("helmOpOptions", Kind::Object(&HELM_OP)),
        ("valuesHash", Kind::Text),
    ],
    inlined: &[&OPTIONS],
};

static METADATA: Schema = Schema {
    own: &[
        ("name", Kind::Text),
        ("labels", Kind::TextMap),
        ("annotations", Kind::TextMap),
        ("generateName", Kind::Other),
        ("selfLink", Kind::Other),
        ("uid", Kind::Other),
        ("resourceVersion", Kind::Other),
        ("generation", Kind::Other),
        ("creationTimestamp", Kind::Other),
        ("deletionTimestamp", Kind::Other),
        ("deletionGracePeriodSeconds", Kind::Other),
        ("ownerReferences", Kind::Other),
        ("finalizers", Kind::Other),
        ("managedFields", Kind::Other),
    ],
    inlined: &[],
};

static OPTIONS: Schema = Schema {
    own: &[
        ("defaultNamespace", Kind::Text),
        ("namespace", Kind::Text),
        ("helm", Kind::Object(&HELM)),
        ("serviceAccount", Kind::Text),
        ("createNamespace", Kind::BoolSet),
        ("forceSyncGeneration", Kind::Int),
        ("diff", Kind::Object(&DIFF)),
        ("keepResources", Kind::Bool),
        ("deleteNamespace", Kind::Bool),
        ("ignore", Kind::Object(&IGNORE)),
        ("correctDrift", Kind::Object(&CORRECT_DRIFT)),
        ("namespaceLabels", Kind::TextMap),
        ("namespaceAnnotations", Kind::TextMap),
        ("deleteCRDResources", Kind::Bool),
        ("downstreamResources", Kind::List(&DOWNSTREAM)),
        ("overwrites", Kind::List(&OVERWRITTEN)),
        ("allowedTargetNamespaceSelector", Kind::Object(&SELECTOR)),
    ],
    inlined: &[&GIT_OPS],
};

static GIT_OPS: Schema = Schema {
    own: &[("yaml", Kind::Object(&YAML)), ("kustomize", Kind::Object(&KUSTOMIZE))],
    inlined: &[],
};
static YAML: Schema = Schema {
    own: &[("overlays", Kind::TextList)],
    inlined: &[],
};
static KUSTOMIZE: Schema = Schema {
    own: &[("dir", Kind::Text)],
    inlined: &[],
};
static IGNORE: Schema = Schema {
    own: &[("conditions", Kind::TextMaps)],
    inlined: &[],
};
static DIFF: Schema = Schema {
    own: &[("comparePatches", Kind::List(&COMPARE_PATCH))],
    inlined: &[],
};
static OPERATION: Schema = Schema {
    own: &[("op", Kind::Text), ("path", Kind::Text), ("value", Kind::Text)],
    inlined: &[],
};
static CORRECT_DRIFT: Schema = Schema {
    own: &[
        ("enabled", Kind::Bool),
        ("force", Kind::Bool),
        ("keepFailHistory", Kind::Bool),
    ],
    inlined: &[],
};
static DOWNSTREAM: Schema = Schema {
    own: &[("kind", Kind::Text), ("name", Kind::Text)],
    inlined: &[],
};
static OVERWRITTEN: Schema = Schema {
    own: &[("name", Kind::Text), ("namespace", Kind::Text), ("kind", Kind::Text)],
    inlined: &[],
};

static COMPARE_PATCH: Schema = Schema {
    own: &[
        ("apiVersion", Kind::Text),
        ("kind", Kind::Text),
        ("name", Kind::Text),
        ("namespace", Kind::Text),
        ("jsonPointers", Kind::TextList),
        ("operations", Kind::List(&OPERATION)),
    ],
    inlined: &[],
};

static HELM: Schema = Schema {
    own: &[
        ("chart", Kind::Text),
        ("repo", Kind::Text),
        ("releaseName", Kind::Text),
        ("version", Kind::Text),
        ("timeoutSeconds", Kind::Int),
        ("values", Kind::Values),
        ("templateValues", Kind::TextMap),
        ("valuesFrom", Kind::List(&VALUES_FROM)),
        ("force", Kind::Bool),
        ("takeOwnership", Kind::Bool),
        ("maxHistory", Kind::Int),
        ("waitForJobs", Kind::Bool),
        ("atomic", Kind::Bool),
        ("disablePreProcess", Kind::Bool),
        ("disableDNS", Kind::Bool),
        ("skipSchemaValidation", Kind::Bool),
        ("disableDependencyUpdate", Kind::Bool),
    ],
    inlined: &[&GIT_OPS_HELM],
};

static GIT_OPS_HELM: Schema = Schema {
    own: &[("valuesFiles", Kind::TextList)],
    inlined: &[],
};
static VALUES_FROM: Schema = Schema {
    own: &[
        ("configMapKeyRef", Kind::Object(&KEY_REF)),
        ("secretKeyRef", Kind::Object(&KEY_REF)),
    ],
    inlined: &[],
};
static KEY_REF: Schema = Schema {
    own: &[("namespace", Kind::Text), ("key", Kind::Text)],
    inlined: &[&LOCAL_REF],
};
static LOCAL_REF: Schema = Schema {
    own: &[("name", Kind::TextAlways)],
    inlined: &[],
};

static SELECTOR: Schema = Schema {
    own: &[
        ("matchLabels", Kind::TextMap),
        ("matchExpressions", Kind::List(&EXPRESSION)),
    ],
    inlined: &[],
};
static EXPRESSION: Schema = Schema {
    own: &[
        ("key", Kind::TextAlways),
        ("operator", Kind::TextAlways),
        ("values", Kind::TextList),
    ],
    inlined: &[],
};

static TARGET: Schema = Schema {
    own: &[
        ("name", Kind::Text),
        ("clusterName", Kind::Text),
        ("clusterSelector", Kind::Object(&SELECTOR)),
        ("clusterGroup", Kind::Text),
        ("clusterGroupSelector", Kind::Object(&SELECTOR)),
        ("doNotDeploy", Kind::Bool),
        ("namespaceLabels", Kind::TextMap),
        ("namespaceAnnotations", Kind::TextMap),
    ],
    inlined: &[&OPTIONS],
};

/// The criteria of a target, without options: restrictions and `overrideTargets`.
pub static RESTRICTION: Schema = Schema {
    own: &[
        ("name", Kind::Text),
        ("clusterName", Kind::Text),
        ("clusterSelector", Kind::Object(&SELECTOR)),
        ("clusterGroup", Kind::Text),
        ("clusterGroupSelector", Kind::Object(&SELECTOR)),
    ],
    inlined: &[],
};

static BUNDLE_REF: Schema = Schema {
    own: &[
        ("name", Kind::Text),
        ("selector", Kind::Object(&SELECTOR)),
        ("acceptedStates", Kind::TextList),
    ],
    inlined: &[],
};

static HELM_OP: Schema = Schema {
    own: &[
        ("helmOpSecretName", Kind::Text),
        ("helmOpInsecureSkipTLSVerify", Kind::Bool),
        ("helmOpCABundle", Kind::Text),
    ],
    inlined: &[],
};

static ROLLOUT: Schema = Schema {
    own: &[
        ("maxUnavailable", Kind::IntOrText),
        ("maxUnavailablePartitions", Kind::IntOrText),
        ("autoPartitionSize", Kind::IntOrText),
        ("autoPartitionThreshold", Kind::IntSet),
        ("maxNew", Kind::IntSet),
        ("partitions", Kind::List(&PARTITION)),
    ],
    inlined: &[],
};

static PARTITION: Schema = Schema {
    own: &[
        ("name", Kind::Text),
        ("maxUnavailable", Kind::IntOrText),
        ("clusterName", Kind::Text),
        ("clusterSelector", Kind::Object(&SELECTOR)),
        ("clusterGroup", Kind::Text),
        ("clusterGroupSelector", Kind::Object(&SELECTOR)),
    ],
    inlined: &[],
};
