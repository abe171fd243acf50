//! From events to a node graph: one document, anchors resolved to node numbers.

use std::collections::HashMap;

use zeroize::Zeroizing;

use super::events::{Event, Parser};
use super::{MAX_BYTES, MAX_DEPTH, YamlError};

/// Number of a node in its document.
pub(super) type NodeId = usize;

/// What a node is.
pub(super) enum NodeKind {
    /// A scalar with its text; `plain` when its type may be read from the text.
    Scalar {
        /// The text after unescaping and folding.
        text: Zeroizing<String>,
        /// True for plain scalars without a tag.
        plain: bool,
    },
    /// A reference to another node, and the anchor it names.
    Alias(NodeId, String),
    /// A sequence.
    List(Vec<NodeId>),
    /// A mapping: key, value, key, value …
    Map(Vec<NodeId>),
}

/// One node.
pub(super) struct Node {
    /// The explicit tag, in long form, or nothing.
    pub tag: Option<String>,
    /// What it is.
    pub kind: NodeKind,
}

/// One document; `nodes[root]` is its content.
pub(super) struct Document {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// The outermost node.
    pub root: NodeId,
}

/// Reads the first document; `None` when there is none.
pub(super) fn compose(text: &[u8]) -> Result<Option<Document>, YamlError> {
    // go-yaml replaces an empty text by one newline; the reader then sees a stream without documents.
    let mut parser = Parser::new(if text.is_empty() { b"\n" } else { text });
    let mut builder = Builder::default();
    while !builder.accept(parser.next()?)? {}
    Ok(builder.root.map(|root| Document {
        nodes: builder.nodes,
        root,
    }))
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    anchors: HashMap<String, NodeId>,
    open: Vec<NodeId>,
    bytes: usize,
    root: Option<NodeId>,
}

impl Builder {
    /// Takes one event; true when the document, or the stream, is at its end.
    fn accept(&mut self, event: Event) -> Result<bool, YamlError> {
        match event {
            Event::StreamStart | Event::DocumentStart => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(true),
            Event::Alias(anchor) => {
                let Some(&target) = self.anchors.get(&anchor) else {
                    return Err(YamlError::with_data(
                        format!("yaml: unknown anchor '{anchor}' referenced"),
                        "yaml: unknown anchor referenced",
                    ));
                };
                self.add(None, NodeKind::Alias(target, anchor), None)?;
            }
            Event::Scalar {
                anchor,
                tag,
                text,
                plain,
            } => {
                self.bytes = self.bytes.saturating_add(text.len());
                if self.bytes > MAX_BYTES {
                    return Err(YamlError::new("yaml: document is too large"));
                }
                self.add(tag, NodeKind::Scalar { text, plain }, anchor)?;
            }
            Event::SequenceStart { anchor, tag } => {
                let id = self.add(tag, NodeKind::List(Vec::new()), anchor)?;
                self.enter(id)?;
            }
            Event::MappingStart { anchor, tag } => {
                let id = self.add(tag, NodeKind::Map(Vec::new()), anchor)?;
                self.enter(id)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
        }
        Ok(false)
    }

    fn add(&mut self, tag: Option<String>, kind: NodeKind, anchor: Option<String>) -> Result<NodeId, YamlError> {
        let id = self.nodes.len();
        self.nodes.push(Node {
            tag: tag.filter(|tag| !tag.is_empty()),
            kind,
        });
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, id);
        }
        match self.open.last() {
            None => self.root = Some(id),
            Some(&parent) => match &mut self.nodes[parent].kind {
                NodeKind::List(children) | NodeKind::Map(children) => children.push(id),
                NodeKind::Scalar { .. } | NodeKind::Alias(..) => {
                    return Err(YamlError::new("yaml: unexpected nesting"));
                }
            },
        }
        Ok(id)
    }

    fn enter(&mut self, id: NodeId) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(YamlError::new(format!("yaml: exceeded max depth of {MAX_DEPTH}")));
        }
        self.open.push(id);
        Ok(())
    }
}
