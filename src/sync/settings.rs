//! What a run of the loop may be told.

use std::path::PathBuf;
use std::time::Duration;

/// Whether sources are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceWatch {
    /// Where the role allows it.
    #[default]
    Auto,
    /// Never: polling, as the operator does.
    Off,
}

/// When the run ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Mode {
    /// Never, until told to stop.
    #[default]
    Watch,
    /// When everything was reconciled once.
    Once,
    /// When these ExternalSecrets (namespace, name) were refreshed, due or not.
    Names(Vec<(String, String)>),
}

/// Settings of one run, the same for every cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Controller class served; `default` also serves stores that name none.
    pub class: String,
    /// Objects handled at once per cluster.
    pub concurrency: usize,
    /// Whether sources are watched.
    pub source_watch: SourceWatch,
    /// Whether `target.manifest` is served.
    pub allow_generic_targets: bool,
    /// When the run ends.
    pub mode: Mode,
    /// Only passes over this kind; `None`: over all.
    pub focus: Option<&'static str>,
    /// Write nothing, report what would have been written.
    pub shadow: bool,
    /// Start beside a live operator of the same class.
    pub take_over: bool,
    /// Revalidation period of stores that name none.
    pub store_requeue: Duration,
    /// A store must be `Ready` before it is used.
    pub flood_gate: bool,
    /// Keep `GeneratorState` objects.
    pub generator_state: bool,
    /// How long an older generator state is kept.
    pub generator_grace: Duration,
    /// Names of namespaces not to write to, one a line; read anew when it changes.
    pub pause_file: Option<PathBuf>,
    /// How long work in hand may take after a stop.
    pub drain: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            class: "default".to_owned(),
            concurrency: 32,
            source_watch: SourceWatch::Auto,
            allow_generic_targets: false,
            mode: Mode::Watch,
            focus: None,
            shadow: false,
            take_over: false,
            store_requeue: Duration::from_secs(300),
            flood_gate: true,
            generator_state: true,
            generator_grace: Duration::from_secs(120),
            pause_file: None,
            drain: Duration::from_secs(4),
        }
    }
}

impl Settings {
    /// True where this run is responsible for a store or generator with this `spec.controller`. The class `default` also
    /// serves those that name none; any other serves only what names it.
    pub fn serves(&self, controller: &str) -> bool {
        controller == self.class || (controller.is_empty() && self.is_default_class())
    }

    /// True for the class `default`, which alone serves the Cluster kinds.
    pub fn is_default_class(&self) -> bool {
        self.class == "default"
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn another_class_serves_only_what_names_it() {
        let ours = Settings {
            class: "laptop".to_owned(),
            ..Settings::default()
        };
        assert!(ours.serves("laptop") && !ours.serves("") && !ours.serves("default"));
        let default = Settings::default();
        assert!(default.serves("") && default.serves("default") && !default.serves("laptop"));
    }
}
