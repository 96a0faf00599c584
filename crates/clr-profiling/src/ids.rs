//! What the runtime names things by. All are addresses or numbers that mean something to the runtime alone, and only
//! as long as the thing exists: methods and types can be unloaded, threads end, objects move.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($type:ty);)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[repr(transparent)]
            pub struct $name(pub $type);
        )*
    };
}

ids! {
    /// A managed thread.
    ThreadId(usize);
    /// A method, with its generic arguments.
    FunctionId(usize);
    /// A type, with its generic arguments.
    ClassId(usize);
    /// A loaded module.
    ModuleId(usize);
    /// A loaded assembly.
    AssemblyId(usize);
    /// An application domain; there is one.
    AppDomainId(usize);
    /// An object. It moves at the next collection.
    ObjectId(usize);
    /// An address in code.
    CodeAddress(usize);
    /// A thread as the operating system numbers it.
    OsThreadId(u32);
    /// A row of a module's metadata.
    Token(u32);
}
