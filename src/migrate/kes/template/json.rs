//! JSON whose type only the running template knows: printed and joined as JavaScript does.

use super::go::{Form, Go, Kind, quote};
use super::write::Writer;

const NO_VALUE: &str = "a JSON value is missing or has parts, a text or number is needed";

/// What happens to null and missing fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// They print nothing.
    Nothing,
    /// They end the template with an error: JavaScript would write `null` or `undefined` into the text.
    Stop,
}

impl Writer<'_> {
    /// A value as a variable, so that it can be looked at more than once.
    pub fn bound(&mut self, go: &Go) -> Go {
        if go.form == Form::Atom && go.text.starts_with('$') && go.text.len() > 1 {
            return go.clone();
        }
        let name = self.temporary();
        self.before(format!("{name} := {}", go.text));
        Go::atom(name, go.kind).at(go.path.clone())
    }

    /// Prints JSON of unknown type as JavaScript does: texts as they are, lists joined with commas, the rest as JSON.
    pub(super) fn print_json(&mut self, go: &Go, missing: Missing) {
        if let Some(path) = &go.path {
            self.shapes.scalars.insert(path.clone());
        }
        let value = self.bound(go);
        let v = &value.text;
        self.action(&format!(r#"if kindIs "string" {v}"#));
        self.emit(&value);
        self.action(&format!(r#"else if kindIs "slice" {v}"#));
        self.print_elements(v);
        self.action(&format!(r#"else if kindIs "map" {v}"#));
        self.literal("[object Object]");
        match missing {
            Missing::Nothing => self.action(&format!(r#"else if not (kindIs "invalid" {v})"#)),
            Missing::Stop => {
                self.action(&format!(r#"else if kindIs "invalid" {v}"#));
                self.action(&format!("fail {}", quote(NO_VALUE)));
                self.action("else");
            }
        }
        self.emit(&value.pipe("toRawJson", Kind::Text));
        self.action("end");
    }

    fn print_elements(&mut self, list: &str) {
        let (i, e) = (self.temporary(), self.temporary());
        self.action(&format!("range {i}, {e} := {list}"));
        self.action(&format!("if {i}"));
        self.literal(",");
        self.action("end");
        self.action(&format!(r#"if kindIs "string" {e}"#));
        self.emit(&Go::atom(&e, Kind::Text));
        self.action(&format!(r#"else if or (kindIs "slice" {e}) (kindIs "map" {e})"#));
        self.action(&format!(
            "fail {}",
            quote("a list of lists or objects cannot be printed")
        ));
        self.action(&format!(r#"else if not (kindIs "invalid" {e})"#));
        self.emit(&Go::pipeline(format!("{e} | toRawJson"), Kind::Text));
        self.action("end");
        self.action("end");
    }

    /// JSON of unknown type as a text variable; lists and objects stop the template.
    pub fn text_variable(&mut self, go: &Go, missing: Missing) -> Go {
        if let Some(path) = &go.path {
            self.shapes.scalars.insert(path.clone());
        }
        let name = self.temporary();
        self.before(format!("{name} := {}", go.text));
        self.before(format!(r#"if or (kindIs "float64" {name}) (kindIs "bool" {name})"#));
        self.before(format!("{name} = {name} | toRawJson"));
        if missing == Missing::Nothing {
            self.before(format!(r#"else if kindIs "invalid" {name}"#));
            self.before(format!(r#"{name} = """#));
        }
        self.before(format!(r#"else if not (kindIs "string" {name})"#));
        self.before(format!("fail {}", quote(NO_VALUE)));
        self.before("end".to_owned());
        Go::atom(name, Kind::Text)
    }
}
