//! From tokens to events: the grammar of YAML as a machine with a stack of states.

use zeroize::Zeroizing;

use super::YamlError;
use super::scan::{Kind, Scanner, Token};
use super::source::Mark;

/// What happens in a document.
pub(super) enum Event {
    StreamStart,
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(String),
    Scalar {
        anchor: Option<String>,
        tag: Option<String>,
        text: Zeroizing<String>,
        /// The type may be read from the text.
        plain: bool,
    },
    SequenceStart {
        anchor: Option<String>,
        tag: Option<String>,
    },
    SequenceEnd,
    MappingStart {
        anchor: Option<String>,
        tag: Option<String>,
    },
    MappingEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    StreamStart,
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceEntry { first: bool },
    IndentlessEntry,
    BlockMappingKey { first: bool },
    BlockMappingValue,
    FlowSequenceEntry { first: bool },
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowMappingKey { first: bool },
    FlowMappingValue { empty: bool },
    End,
}

/// Reads events.
pub(super) struct Parser<'t> {
    scanner: Scanner<'t>,
    state: State,
    states: Vec<State>,
    marks: Vec<Mark>,
    tags: Vec<(String, String)>,
}

type Outcome = Result<Event, YamlError>;

/// An error of the grammar. go-yaml counts its lines from zero and leaves line zero out.
fn error(problem: &str, at: Mark, context: Option<Mark>) -> YamlError {
    let line = if at.line == 0 {
        context.map_or(0, |mark| mark.line)
    } else {
        at.line
    };
    if line == 0 {
        YamlError::new(format!("yaml: {problem}"))
    } else {
        YamlError::new(format!("yaml: line {line}: {problem}"))
    }
}

fn empty_scalar() -> Event {
    Event::Scalar {
        anchor: None,
        tag: None,
        text: Zeroizing::default(),
        plain: true,
    }
}

impl<'t> Parser<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Self {
            scanner: Scanner::new(text),
            state: State::StreamStart,
            states: Vec::new(),
            marks: Vec::new(),
            tags: Vec::new(),
        }
    }

    /// The next event.
    pub fn next(&mut self) -> Outcome {
        match self.state {
            State::StreamStart => {
                self.scanner.next()?;
                self.state = State::ImplicitDocumentStart;
                Ok(Event::StreamStart)
            }
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(true, false),
            State::BlockSequenceEntry { first } => self.block_sequence_entry(first),
            State::IndentlessEntry => self.indentless_entry(),
            State::BlockMappingKey { first } => self.block_mapping_key(first),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceEntry { first } => self.flow_sequence_entry(first),
            State::FlowPairKey => self.flow_pair_key(),
            State::FlowPairValue => self.flow_pair_value(),
            State::FlowPairEnd => {
                self.state = State::FlowSequenceEntry { first: false };
                Ok(Event::MappingEnd)
            }
            State::FlowMappingKey { first } => self.flow_mapping_key(first),
            State::FlowMappingValue { empty } => self.flow_mapping_value(empty),
            State::End => Ok(Event::StreamEnd),
        }
    }

    fn peek(&mut self) -> Result<&Token, YamlError> {
        self.scanner.peek()
    }

    fn next_is(&mut self, kinds: &[Kind]) -> Result<bool, YamlError> {
        Ok(kinds.contains(&self.peek()?.kind))
    }

    /// Takes the next token if it is of this kind.
    fn accept(&mut self, kind: &Kind) -> Result<bool, YamlError> {
        let found = self.peek()?.kind == *kind;
        if found {
            self.scanner.next()?;
        }
        Ok(found)
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// Reads a node and goes on with a state afterwards.
    fn node_then(&mut self, after: State, block: bool, indentless: bool) -> Outcome {
        self.states.push(after);
        self.node(block, indentless)
    }

    /// Nothing stands where a node could.
    #[expect(clippy::unnecessary_wraps, reason = "ends the functions that return an outcome")]
    fn empty_then(&mut self, after: State) -> Outcome {
        self.state = after;
        Ok(empty_scalar())
    }

    fn document_start(&mut self, implicit: bool) -> Outcome {
        if !implicit {
            while self.accept(&Kind::DocumentEnd)? {}
        }
        let bare = match self.peek()?.kind {
            Kind::VersionDirective { .. } | Kind::TagDirective { .. } | Kind::DocumentStart => false,
            Kind::StreamEnd => {
                self.state = State::End;
                self.scanner.next()?;
                return Ok(Event::StreamEnd);
            }
            _ => implicit,
        };
        self.directives()?;
        self.states.push(State::DocumentEnd);
        if bare {
            self.state = State::BlockNode;
            return Ok(Event::DocumentStart);
        }
        let at = self.peek()?.start;
        if !self.accept(&Kind::DocumentStart)? {
            return Err(error("did not find expected <document start>", at, None));
        }
        self.state = State::DocumentContent;
        Ok(Event::DocumentStart)
    }

    fn directives(&mut self) -> Result<(), YamlError> {
        let mut version = false;
        let mut tags: Vec<(String, String)> = Vec::new();
        loop {
            let start = self.peek()?.start;
            match self.peek()?.kind.clone() {
                Kind::VersionDirective { .. } if version => {
                    return Err(error("found duplicate %YAML directive", start, None));
                }
                Kind::VersionDirective { major: 1, minor: 1 } => version = true,
                Kind::VersionDirective { .. } => {
                    return Err(error("found incompatible YAML document", start, None));
                }
                Kind::TagDirective { handle, .. } if tags.iter().any(|(known, _)| *known == handle) => {
                    return Err(error("found duplicate %TAG directive", start, None));
                }
                Kind::TagDirective { handle, prefix } => tags.push((handle, prefix)),
                _ => break,
            }
            self.scanner.next()?;
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !tags.iter().any(|(known, _)| known == handle) {
                tags.push((handle.to_owned(), prefix.to_owned()));
            }
        }
        self.tags = tags;
        Ok(())
    }

    fn document_content(&mut self) -> Outcome {
        let empty = matches!(
            self.peek()?.kind,
            Kind::VersionDirective { .. }
                | Kind::TagDirective { .. }
                | Kind::DocumentStart
                | Kind::DocumentEnd
                | Kind::StreamEnd
        );
        if empty {
            self.pop_state();
            return Ok(empty_scalar());
        }
        self.node(true, false)
    }

    fn document_end(&mut self) -> Outcome {
        self.accept(&Kind::DocumentEnd)?;
        self.state = State::DocumentStart;
        Ok(Event::DocumentEnd)
    }

    fn node(&mut self, block: bool, indentless: bool) -> Outcome {
        if let Kind::Alias(name) = &self.peek()?.kind {
            let name = name.clone();
            self.scanner.next()?;
            self.pop_state();
            return Ok(Event::Alias(name));
        }
        let start = self.peek()?.start;
        let (anchor, tag) = self.properties(start)?;
        let next = match &self.peek()?.kind {
            Kind::BlockEntry if indentless => {
                self.state = State::IndentlessEntry;
                return Ok(Event::SequenceStart { anchor, tag });
            }
            Kind::Scalar { text, plain } => {
                let (text, plain) = (text.clone(), *plain);
                self.scanner.next()?;
                self.pop_state();
                // The tag `!` alone means: as if it were plain.
                let lone = tag.as_deref() == Some("!");
                let plain = (plain && tag.is_none()) || lone;
                return Ok(Event::Scalar {
                    anchor,
                    tag: tag.filter(|_| !lone),
                    text,
                    plain,
                });
            }
            Kind::FlowSequenceStart => State::FlowSequenceEntry { first: true },
            Kind::FlowMappingStart => State::FlowMappingKey { first: true },
            Kind::BlockSequenceStart if block => State::BlockSequenceEntry { first: true },
            Kind::BlockMappingStart if block => State::BlockMappingKey { first: true },
            _ if anchor.is_some() || tag.is_some() => {
                self.pop_state();
                let plain = tag.is_none();
                return Ok(Event::Scalar {
                    anchor,
                    tag,
                    text: Zeroizing::default(),
                    plain,
                });
            }
            _ => {
                let at = self.peek()?.start;
                return Err(error("did not find expected node content", at, Some(start)));
            }
        };
        self.state = next;
        Ok(match next {
            State::FlowMappingKey { .. } | State::BlockMappingKey { .. } => Event::MappingStart { anchor, tag },
            _ => Event::SequenceStart { anchor, tag },
        })
    }

    /// An anchor and a tag in any order.
    fn properties(&mut self, start: Mark) -> Result<(Option<String>, Option<String>), YamlError> {
        let (mut anchor, mut tag) = (None, None);
        for _ in 0..2 {
            let at = self.peek()?.start;
            match self.peek()?.kind.clone() {
                Kind::Anchor(name) if anchor.is_none() => anchor = Some(name),
                Kind::Tag { handle, suffix } if tag.is_none() => tag = Some(self.full_tag(&handle, suffix, at, start)?),
                _ => break,
            }
            self.scanner.next()?;
        }
        Ok((anchor, tag))
    }

    fn full_tag(&self, handle: &str, suffix: String, at: Mark, start: Mark) -> Result<String, YamlError> {
        if handle.is_empty() {
            return Ok(suffix);
        }
        self.tags
            .iter()
            .find(|(known, _)| known == handle)
            .map(|(_, prefix)| format!("{prefix}{suffix}"))
            .ok_or_else(|| error("found undefined tag handle", at, Some(start)))
    }

    /// Takes the opening token of a collection and remembers where it stood.
    fn open(&mut self, first: bool) -> Result<(), YamlError> {
        if first {
            let token = self.scanner.next()?;
            self.marks.push(token.start);
        }
        Ok(())
    }

    /// Takes the closing token of a collection.
    fn close(&mut self, event: Event) -> Outcome {
        self.scanner.next()?;
        self.marks.pop();
        self.pop_state();
        Ok(event)
    }

    fn unexpected(&mut self, problem: &str) -> Outcome {
        let context = self.marks.pop();
        let at = self.peek()?.start;
        Err(error(problem, at, context))
    }

    fn block_sequence_entry(&mut self, first: bool) -> Outcome {
        self.open(first)?;
        let again = State::BlockSequenceEntry { first: false };
        if self.accept(&Kind::BlockEntry)? {
            if self.next_is(&[Kind::BlockEntry, Kind::BlockEnd])? {
                return self.empty_then(again);
            }
            return self.node_then(again, true, false);
        }
        if self.next_is(&[Kind::BlockEnd])? {
            return self.close(Event::SequenceEnd);
        }
        self.unexpected("did not find expected '-' indicator")
    }

    fn indentless_entry(&mut self) -> Outcome {
        if self.accept(&Kind::BlockEntry)? {
            if self.next_is(&[Kind::BlockEntry, Kind::Key, Kind::Value, Kind::BlockEnd])? {
                return self.empty_then(State::IndentlessEntry);
            }
            return self.node_then(State::IndentlessEntry, true, false);
        }
        self.pop_state();
        Ok(Event::SequenceEnd)
    }

    fn block_mapping_key(&mut self, first: bool) -> Outcome {
        self.open(first)?;
        if self.accept(&Kind::Key)? {
            if self.next_is(&[Kind::Key, Kind::Value, Kind::BlockEnd])? {
                return self.empty_then(State::BlockMappingValue);
            }
            return self.node_then(State::BlockMappingValue, true, true);
        }
        if self.next_is(&[Kind::BlockEnd])? {
            return self.close(Event::MappingEnd);
        }
        self.unexpected("did not find expected key")
    }

    fn block_mapping_value(&mut self) -> Outcome {
        let again = State::BlockMappingKey { first: false };
        if self.accept(&Kind::Value)? && !self.next_is(&[Kind::Key, Kind::Value, Kind::BlockEnd])? {
            return self.node_then(again, true, true);
        }
        self.empty_then(again)
    }

    fn flow_sequence_entry(&mut self, first: bool) -> Outcome {
        self.open(first)?;
        if !self.next_is(&[Kind::FlowSequenceEnd])? {
            if !first && !self.accept(&Kind::FlowEntry)? {
                return self.unexpected("did not find expected ',' or ']'");
            }
            if self.accept(&Kind::Key)? {
                self.state = State::FlowPairKey;
                return Ok(Event::MappingStart {
                    anchor: None,
                    tag: None,
                });
            }
            if !self.next_is(&[Kind::FlowSequenceEnd])? {
                return self.node_then(State::FlowSequenceEntry { first: false }, false, false);
            }
        }
        self.close(Event::SequenceEnd)
    }

    fn flow_pair_key(&mut self) -> Outcome {
        if self.next_is(&[Kind::Value, Kind::FlowEntry, Kind::FlowSequenceEnd])? {
            // libyaml drops this token, and so does go-yaml.
            self.scanner.next()?;
            return self.empty_then(State::FlowPairValue);
        }
        self.node_then(State::FlowPairValue, false, false)
    }

    fn flow_pair_value(&mut self) -> Outcome {
        if self.accept(&Kind::Value)? && !self.next_is(&[Kind::FlowEntry, Kind::FlowSequenceEnd])? {
            return self.node_then(State::FlowPairEnd, false, false);
        }
        self.empty_then(State::FlowPairEnd)
    }

    fn flow_mapping_key(&mut self, first: bool) -> Outcome {
        self.open(first)?;
        if !self.next_is(&[Kind::FlowMappingEnd])? {
            if !first && !self.accept(&Kind::FlowEntry)? {
                return self.unexpected("did not find expected ',' or '}'");
            }
            if self.accept(&Kind::Key)? {
                let value = State::FlowMappingValue { empty: false };
                if self.next_is(&[Kind::Value, Kind::FlowEntry, Kind::FlowMappingEnd])? {
                    return self.empty_then(value);
                }
                return self.node_then(value, false, false);
            }
            if !self.next_is(&[Kind::FlowMappingEnd])? {
                return self.node_then(State::FlowMappingValue { empty: true }, false, false);
            }
        }
        self.close(Event::MappingEnd)
    }

    fn flow_mapping_value(&mut self, empty: bool) -> Outcome {
        let again = State::FlowMappingKey { first: false };
        if empty {
            return self.empty_then(again);
        }
        if self.accept(&Kind::Value)? && !self.next_is(&[Kind::FlowEntry, Kind::FlowMappingEnd])? {
            return self.node_then(again, false, false);
        }
        self.empty_then(again)
    }
}
