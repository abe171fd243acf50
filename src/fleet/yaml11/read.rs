//! Text → nodes with their line and style; no meaning is given to scalars here.
use std::collections::HashMap;

use libyaml_safer::{Event, EventData, Parser};

use super::YamlError;

/// Nodes a document may hold once aliases are copied in; the original stops excessive aliasing too.
const MAX_NODES: usize = 1_000_000;
/// Deepest nesting; deeper documents would only exhaust the stack of whoever walks them.
const MAX_DEPTH: usize = 200;

/// Whether a scalar may be anything but text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Written without quotes: subject to resolution.
    Plain,
    /// Quoted or a block scalar: text, unless an explicit tag says otherwise.
    Quoted,
}

/// One node of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Line in the file, from 1.
    pub line: usize,
    /// What stands there.
    pub kind: NodeKind,
}

/// The three shapes of a node. Mappings keep file order and duplicate keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeKind {
    /// A scalar as written, with its explicit tag in short form (`!!int`).
    Scalar {
        /// Text after unquoting and folding.
        text: String,
        /// Plain or not.
        style: Style,
        /// Explicit tag.
        tag: Option<String>,
    },
    /// A list.
    Seq(Vec<Node>),
    /// A mapping.
    Map(Vec<(Node, Node)>),
}

/// Reads the first document of `text`; `None` when there is none (empty text, only comments).
///
/// # Errors
/// [`YamlError::Syntax`] for text that is not YAML, [`YamlError::TooLarge`] beyond the limits.
pub fn parse(text: &str) -> Result<Option<Node>, YamlError> {
    let mut input: &[u8] = if text.is_empty() { b"\n" } else { text.as_bytes() };
    let mut parser = Parser::new();
    parser.set_input_string(&mut input);
    let mut reader = Reader {
        parser,
        anchors: HashMap::new(),
        nodes: 0,
    };
    loop {
        let event = reader.next()?;
        match event.data {
            EventData::StreamEnd | EventData::DocumentEnd { .. } => return Ok(None),
            EventData::StreamStart { .. } | EventData::DocumentStart { .. } => {}
            _ => return reader.node(event, 0).map(Some),
        }
    }
}

struct Reader<'a> {
    parser: Parser<&'a mut &'a [u8]>,
    /// Anchored nodes and how many nodes each stands for.
    anchors: HashMap<String, (Node, usize)>,
    nodes: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Result<Event, YamlError> {
        self.parser.parse().map_err(|error| {
            let mark = error.problem_mark().or_else(|| error.context_mark());
            YamlError::Syntax {
                line: mark.map_or(1, |mark| line(mark.line)),
                message: error.problem().to_owned(),
            }
        })
    }

    fn count(&mut self, more: usize, line: usize) -> Result<(), YamlError> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > MAX_NODES {
            Err(YamlError::TooLarge { line })
        } else {
            Ok(())
        }
    }

    fn node(&mut self, event: Event, depth: usize) -> Result<Node, YamlError> {
        let line = line(event.start_mark.line);
        if depth > MAX_DEPTH {
            return Err(YamlError::TooLarge { line });
        }
        let before = self.nodes;
        self.count(1, line)?;
        let (kind, anchor) = match event.data {
            EventData::Scalar {
                anchor,
                tag,
                value,
                plain_implicit,
                ..
            } => {
                // A scalar without quotes whose tag is explicit counts as plain too: the tag decides.
                let style = if plain_implicit { Style::Plain } else { Style::Quoted };
                let tag = tag.filter(|tag| !tag.is_empty()).map(|tag| short_tag(&tag));
                (
                    NodeKind::Scalar {
                        text: value,
                        style,
                        tag,
                    },
                    anchor,
                )
            }
            EventData::SequenceStart { anchor, .. } => (self.sequence(depth)?, anchor),
            EventData::MappingStart { anchor, .. } => (self.mapping(depth)?, anchor),
            EventData::Alias { anchor } => {
                let unknown = || YamlError::Syntax {
                    line,
                    message: "unknown anchor".to_owned(),
                };
                let (mut node, size) = self.anchors.get(&anchor).cloned().ok_or_else(unknown)?;
                self.count(size, line)?;
                node.line = line;
                return Ok(node);
            }
            _ => {
                return Err(YamlError::Syntax {
                    line,
                    message: "unexpected end of the document".to_owned(),
                });
            }
        };
        let node = Node { line, kind };
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, (node.clone(), self.nodes - before));
        }
        Ok(node)
    }

    fn sequence(&mut self, depth: usize) -> Result<NodeKind, YamlError> {
        let mut items = Vec::new();
        loop {
            let event = self.next()?;
            if matches!(event.data, EventData::SequenceEnd) {
                return Ok(NodeKind::Seq(items));
            }
            items.push(self.node(event, depth + 1)?);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<NodeKind, YamlError> {
        let mut entries = Vec::new();
        loop {
            let event = self.next()?;
            if matches!(event.data, EventData::MappingEnd) {
                return Ok(NodeKind::Map(entries));
            }
            let key = self.node(event, depth + 1)?;
            let event = self.next()?;
            entries.push((key, self.node(event, depth + 1)?));
        }
    }
}

/// The reader counts lines from 0.
fn line(mark: u64) -> usize {
    usize::try_from(mark).unwrap_or(usize::MAX).saturating_add(1)
}

fn short_tag(tag: &str) -> String {
    tag.strip_prefix("tag:yaml.org,2002:")
        .map_or_else(|| tag.to_owned(), |short| format!("!!{short}"))
}
