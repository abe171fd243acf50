//! From the node graph to a value: aliases, merge keys, duplicate keys, and the limits on aliases.

use std::collections::HashMap;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

use super::compose::{Document, Node, NodeId, NodeKind};
use super::json::go_syntax;
use super::resolve::{BINARY_TAG, MERGE_TAG, STR_TAG, resolve};
use super::{MAX_BYTES, MAX_DEPTH, Yaml, YamlError};

/// Go does not look at the bits behind the last byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Turns a document into a value.
pub(super) fn decode(document: &Document) -> Result<Yaml, YamlError> {
    Decoder {
        document,
        open_aliases: Vec::new(),
        depth: 0,
        steps: 0,
        alias_steps: 0,
        bytes: 0,
    }
    .value(document.root)
}

struct Decoder<'d> {
    document: &'d Document,
    open_aliases: Vec<NodeId>,
    depth: usize,
    steps: u32,
    alias_steps: u32,
    bytes: usize,
}

impl<'d> Decoder<'d> {
    fn value(&mut self, id: NodeId) -> Result<Yaml, YamlError> {
        self.count()?;
        let node = self.node(id);
        match &node.kind {
            NodeKind::Alias(target, name) => self.through_alias(id, *target, name, Self::value),
            NodeKind::Scalar { text, plain } => self.scalar(node, text, *plain),
            NodeKind::List(children) => {
                self.enter()?;
                let items = children
                    .iter()
                    .map(|&child| self.value(child))
                    .collect::<Result<_, _>>()?;
                self.depth -= 1;
                Ok(Yaml::List(items))
            }
            NodeKind::Map(children) => {
                let mut map = MapBuilder::default();
                self.mapping(children, &mut map)?;
                Ok(Yaml::Map(map.entries))
            }
        }
    }

    fn node(&self, id: NodeId) -> &'d Node {
        &self.document.nodes[id]
    }

    fn enter(&mut self) -> Result<(), YamlError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(YamlError::new(format!("yaml: exceeded max depth of {MAX_DEPTH}")));
        }
        Ok(())
    }

    /// go-yaml's own brake on alias bombs: the share of steps made below an alias.
    fn count(&mut self) -> Result<(), YamlError> {
        self.steps += 1;
        if !self.open_aliases.is_empty() {
            self.alias_steps += 1;
        }
        let share = f64::from(self.alias_steps) / f64::from(self.steps);
        if self.alias_steps > 100 && self.steps > 1000 && share > allowed_share(self.steps) {
            return Err(excessive_aliasing());
        }
        Ok(())
    }

    fn through_alias<T>(
        &mut self,
        alias: NodeId,
        target: NodeId,
        name: &str,
        read: impl FnOnce(&mut Self, NodeId) -> Result<T, YamlError>,
    ) -> Result<T, YamlError> {
        if self.open_aliases.contains(&alias) {
            return Err(YamlError::with_data(
                format!("yaml: anchor '{name}' value contains itself"),
                "yaml: anchor value contains itself",
            ));
        }
        self.enter()?;
        self.open_aliases.push(alias);
        let value = read(self, target)?;
        self.open_aliases.pop();
        self.depth -= 1;
        Ok(value)
    }

    fn scalar(&mut self, node: &Node, text: &str, plain: bool) -> Result<Yaml, YamlError> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > MAX_BYTES {
            return Err(excessive_aliasing());
        }
        let tag = node.tag.as_deref().unwrap_or(if plain { "" } else { STR_TAG });
        if tag == BINARY_TAG {
            let compact: Zeroizing<Vec<u8>> =
                Zeroizing::new(text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect());
            return BASE64
                .decode(&*compact)
                .map(|bytes| Yaml::Text(Zeroizing::new(bytes)))
                .map_err(|_| YamlError::new("yaml: !!binary value contains invalid base64 data"));
        }
        resolve(tag, text)
    }

    fn mapping(&mut self, children: &[NodeId], map: &mut MapBuilder) -> Result<(), YamlError> {
        self.enter()?;
        for pair in children.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            if is_merge(self.node(key)) {
                self.merge(value, map)?;
                continue;
            }
            let key = self.value(key)?;
            if matches!(key, Yaml::Map(_) | Yaml::List(_)) {
                return Err(YamlError::with_data(
                    format!("yaml: invalid map key: {}", go_syntax(&key)),
                    "yaml: invalid map key",
                ));
            }
            let value = self.value(value)?;
            map.set(key, value);
        }
        self.depth -= 1;
        Ok(())
    }

    /// `<<`: the pairs of other maps, written into this one at this place. In a list the first map wins.
    fn merge(&mut self, id: NodeId, map: &mut MapBuilder) -> Result<(), YamlError> {
        match &self.node(id).kind {
            NodeKind::Map(_) | NodeKind::Alias(..) => self.merge_one(id, map),
            NodeKind::List(children) => children.iter().rev().try_for_each(|&child| self.merge_one(child, map)),
            NodeKind::Scalar { .. } => Err(merge_needs_map()),
        }
    }

    fn merge_one(&mut self, id: NodeId, map: &mut MapBuilder) -> Result<(), YamlError> {
        self.count()?;
        match &self.node(id).kind {
            NodeKind::Map(children) => self.mapping(children, map),
            NodeKind::Alias(target, name) => match &self.node(*target).kind {
                NodeKind::Map(_) => {
                    self.through_alias(id, *target, name, |decoder, target| decoder.merge_one(target, map))
                }
                _ => Err(merge_needs_map()),
            },
            _ => Err(merge_needs_map()),
        }
    }
}

/// A map under construction; a second value for a key replaces the first in its place.
#[derive(Default)]
struct MapBuilder {
    entries: Vec<(Yaml, Yaml)>,
    places: HashMap<Vec<u8>, usize>,
}

impl MapBuilder {
    fn set(&mut self, key: Yaml, value: Yaml) {
        let place = self.places.entry(identity(&key)).or_insert(self.entries.len());
        match self.entries.get_mut(*place) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((key, value)),
        }
    }
}

/// A text that is equal for two keys exactly when Go takes them for the same key: same type, same value.
fn identity(key: &Yaml) -> Vec<u8> {
    let mut identity = match key {
        Yaml::Text(_) => vec![b't'],
        Yaml::Null => vec![b'n'],
        Yaml::Bool(value) => vec![b'b', u8::from(*value)],
        Yaml::Int(number) => format!("i{number}").into_bytes(),
        Yaml::Uint(number) => format!("u{number}").into_bytes(),
        // Minus zero equals zero.
        Yaml::Float(number) => format!("f{}", number + 0.0).into_bytes(),
        Yaml::List(_) | Yaml::Map(_) => Vec::new(),
    };
    if let Yaml::Text(text) = key {
        identity.extend_from_slice(text);
    }
    identity
}

fn is_merge(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Scalar { text, plain } => text.as_str() == "<<" && (*plain || node.tag.as_deref() == Some(MERGE_TAG)),
        _ => false,
    }
}

fn allowed_share(steps: u32) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let steps = f64::from(steps);
    if steps <= LOW {
        0.99
    } else if steps >= HIGH {
        0.10
    } else {
        0.99 - 0.89 * ((steps - LOW) / (HIGH - LOW))
    }
}

fn excessive_aliasing() -> YamlError {
    YamlError::new("yaml: document contains excessive aliasing")
}

fn merge_needs_map() -> YamlError {
    YamlError::new("yaml: map merge requires map or sequence of maps as the value")
}
