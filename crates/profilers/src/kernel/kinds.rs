//! What kind of code ran: the program's own, the framework's, the runtime's parts, native code, the kernel.

use model::{Frame, FrameKind};

use crate::blame;

/// The runtime's compiler.
const COMPILER: &str = "libclrjit";
/// A garbage collector that comes as a library of its own.
const COLLECTOR: &str = "libclrgc";
/// Threads that collect garbage and do nothing else.
const COLLECTOR_THREADS: &[&str] = &[".NET Server GC", ".NET BGC", ".NET GC"];
/// Functions of the garbage collector, where the runtime has symbols.
const COLLECTOR_FUNCTIONS: &[&str] = &[
    "gc_heap::",
    "GCHeap::",
    "GarbageCollect",
    "WaitUntilGCComplete",
    "ThreadSuspend::",
    "wait_for_gc_done",
];

/// What kind of code ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Own,
    Framework,
    Compiler,
    Collector,
    Runtime,
    Native,
    Kernel,
}

impl Kind {
    /// In a few words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Kind::Own => "your code and libraries",
            Kind::Framework => ".NET's class libraries",
            Kind::Compiler => "JIT compiler",
            Kind::Collector => "garbage collector",
            Kind::Runtime => "runtime",
            Kind::Native => "native code",
            Kind::Kernel => "kernel",
        }
    }

    /// The frame that stands for a stack without .NET code.
    pub(super) fn frame(self) -> Frame {
        let name = format!("({})", self.words());
        Frame { kind: FrameKind::Runtime, name, module: None, file: None, line: None }
    }
}

/// What ran, by the frames from the innermost to the first of .NET code.
pub(super) fn kind<'a>(frames: impl IntoIterator<Item = &'a Frame>, thread: Option<&str>) -> Kind {
    let mut frames = frames.into_iter();
    let Some(innermost) = frames.next() else { return Kind::Native };
    match innermost.kind {
        FrameKind::Managed if blame::is_own(innermost) => return Kind::Own,
        FrameKind::Managed => return Kind::Framework,
        FrameKind::Kernel => return Kind::Kernel,
        FrameKind::Runtime | FrameKind::Native | FrameKind::Stub => {}
    }
    let outside: Vec<&Frame> = std::iter::once(innermost)
        .chain(frames)
        .take_while(|frame| frame.kind != FrameKind::Managed)
        .collect();
    kind_outside(&outside, thread)
}

/// The same for frames without .NET code and kernel.
fn kind_outside(frames: &[&Frame], thread: Option<&str>) -> Kind {
    let any = |is: &dyn Fn(&Frame) -> bool| frames.iter().any(|frame| is(frame));
    if any(&|frame| is_of(frame, COMPILER)) {
        Kind::Compiler
    } else if any(&is_collector) || thread.is_some_and(|name| COLLECTOR_THREADS.contains(&name)) {
        Kind::Collector
    } else if any(&is_runtime) {
        Kind::Runtime
    } else {
        Kind::Native
    }
}

/// Whether a frame belongs to the runtime: its libraries, code that it made, or the executable itself, which holds the
/// runtime where a program is one file.
pub(super) fn is_runtime(frame: &Frame) -> bool {
    match (frame.kind, frame.module.as_deref()) {
        (FrameKind::Runtime | FrameKind::Stub, _) => true,
        (FrameKind::Native, Some(module)) => {
            let file = module.rsplit('/').next().unwrap_or_default();
            !file.is_empty() && !file.contains(".so") && !file.starts_with('[')
        }
        _ => false,
    }
}

/// Whether a frame belongs to the garbage collector, as far as names tell.
pub(super) fn is_collector(frame: &Frame) -> bool {
    is_of(frame, COLLECTOR)
        || is_runtime(frame) && COLLECTOR_FUNCTIONS.iter().any(|function| frame.name.contains(function))
}

/// Whether a native frame has the name of a function, and not only its place in a library.
pub(super) fn has_name(frame: &Frame) -> bool {
    frame.kind != FrameKind::Stub && !frame.name.contains("+0x") && !frame.name.starts_with('[')
}

fn is_of(frame: &Frame, library: &str) -> bool {
    let module = frame.module.as_deref().unwrap_or_default();
    module.rsplit('/').next().unwrap_or_default().starts_with(library)
}

/// The kind of a stack without .NET code as a whole; what its kernel frames are called from counts.
pub(super) fn kind_without_managed(frames: &[&Frame], thread: Option<&str>) -> Kind {
    let user: Vec<&Frame> = frames.iter().copied().filter(|frame| frame.kind != FrameKind::Kernel).collect();
    if user.is_empty() { Kind::Kernel } else { kind_outside(&user, thread) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: FrameKind, name: &str, module: &str) -> Frame {
        Frame { kind, name: name.to_owned(), module: Some(module.to_owned()), file: None, line: None }
    }

    #[test]
    fn time_is_told_apart_by_who_called() {
        let own = frame(FrameKind::Managed, "Shop.Pay", "Shop");
        let list = frame(FrameKind::Managed, "System.Collections.Generic.List.Add", "System.Private.CoreLib");
        let copy = frame(FrameKind::Native, "__memmove_evex", "/lib/libc.so.6");
        let runtime = frame(FrameKind::Runtime, "libcoreclr.so+0x10", "/dotnet/libcoreclr.so");
        let compiler = frame(FrameKind::Runtime, "libclrjit.so+0x10", "/dotnet/libclrjit.so");
        let mark = frame(FrameKind::Runtime, "WKS::gc_heap::mark_object_simple", "/dotnet/libcoreclr.so");
        let read = frame(FrameKind::Kernel, "vfs_read", "");
        assert_eq!(kind([&own], None), Kind::Own);
        assert_eq!(kind([&list, &own], None), Kind::Framework);
        assert_eq!(kind([&read, &list, &own], None), Kind::Kernel);
        assert_eq!(kind([&copy, &own], None), Kind::Native);
        assert_eq!(kind([&copy, &runtime, &own], None), Kind::Runtime);
        assert_eq!(kind([&copy, &runtime, &compiler, &runtime], None), Kind::Compiler);
        assert_eq!(kind([&mark, &runtime, &own], None), Kind::Collector);
        assert_eq!(kind([&runtime], Some(".NET Server GC")), Kind::Collector);
        let single = frame(FrameKind::Native, "Shop+0x1234", "/app/Shop");
        assert_eq!(kind([&copy, &single, &own], None), Kind::Runtime, "a program that is one file");
        assert_eq!(kind_without_managed(&[&read, &runtime], None), Kind::Runtime);
        assert_eq!(kind_without_managed(&[&read], None), Kind::Kernel);
    }
}
