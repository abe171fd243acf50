//! Why a run stopped, and where.

use super::{At, Run};
use crate::template::engine::failure::Failure;
use crate::template::engine::utf8;

/// An error of execution.
#[derive(Clone, Debug)]
pub struct ExecError {
    /// Byte offset of the node in the template text.
    pub pos: usize,
    /// The name of the template that was running.
    pub running: Vec<u8>,
    /// The node as Go prints it.
    pub node: String,
    /// The function that failed, if one did.
    pub function: Option<String>,
    /// What went wrong.
    pub failure: Failure,
}

impl Run<'_, '_, '_> {
    /// An error at the current node.
    pub(super) fn fail(&self, failure: Failure) -> Box<ExecError> {
        let mut node = Vec::new();
        let pos = match self.at {
            Some(At::Call(call)) => {
                call.write(&mut node);
                call.pos
            }
            Some(At::Pipe(pipe)) => {
                pipe.write(&mut node);
                pipe.pos
            }
            Some(At::Command(command)) => {
                command.write(&mut node);
                command.pos
            }
            Some(At::Expr(expr)) => {
                expr.write(&mut node);
                expr.pos
            }
            None => 0,
        };
        let running = self.tree.name.clone();
        Box::new(ExecError { pos, running, node: utf8::lossy(&node), function: None, failure })
    }

    /// An error at the current node, with this text, which holds no data.
    pub(super) fn fail_text(&self, text: impl Into<String>) -> Box<ExecError> {
        self.fail(Failure::new(text))
    }
}
