//! Which method an address belongs to.

use std::collections::HashMap;

use model::{Frame, FrameKind};
use nettrace::CodeAddress;
use runtime_events::{ModuleId, RuntimeEvent, jit};

/// Whether an event said something about code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// It did.
    Code,
    /// It was about something else.
    Nothing,
}

/// A method's code.
struct Code {
    start: u64,
    end: u64,
    name: String,
    module: ModuleId,
}

/// The code of a process, as its runtime told of it.
#[derive(Default)]
pub struct CodeMap {
    code: Vec<Code>,
    modules: HashMap<ModuleId, String>,
    sorted: bool,
}

impl CodeMap {
    /// An empty map.
    #[must_use]
    pub fn new() -> CodeMap {
        CodeMap::default()
    }

    /// Takes in what an event says about code: methods, modules, IL maps, of the session or of its rundown.
    pub fn learn(&mut self, event: &RuntimeEvent<'_>) -> Learned {
        match event {
            RuntimeEvent::MethodLoad(method)
            | RuntimeEvent::MethodUnload(method)
            | RuntimeEvent::MethodRundown(method) => self.method(method),
            RuntimeEvent::ModuleLoad(module) | RuntimeEvent::ModuleRundown(module) => {
                self.modules.insert(module.id, module.path.to_string());
            }
            _ => return Learned::Nothing,
        }
        Learned::Code
    }

    fn method(&mut self, method: &jit::Method<'_>) {
        let start = method.start.0;
        self.code.push(Code {
            start,
            end: start.saturating_add(method.code_bytes.into()),
            name: format!("{}.{}", method.namespace, method.name),
            module: method.module,
        });
        self.sorted = false;
    }

    /// Makes the map ready for look-ups; to be called again after more was learned.
    pub fn settle(&mut self) {
        self.code.sort_by_key(|code| code.start);
        self.sorted = true;
    }

    /// The frame at an address of a stack. An address without a known method gives a frame whose name says so.
    #[must_use]
    pub fn frame(&self, address: CodeAddress) -> Option<Frame> {
        debug_assert!(self.sorted, "settle() comes before look-ups");
        let behind = self.code.partition_point(|code| code.start <= address.0);
        let code = self.code.get(behind.checked_sub(1)?).filter(|code| address.0 < code.end)?;
        Some(Frame {
            kind: FrameKind::Managed,
            name: code.name.clone(),
            module: self.modules.get(&code.module).cloned(),
            file: None,
            line: None,
        })
    }
}
