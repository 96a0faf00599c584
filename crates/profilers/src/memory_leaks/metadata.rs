//! What the program's own assemblies say of its types: fields, base types, the types around nested ones.
//!
//! A heap has no names of instance fields. Where a type has one field only that can hold the object, that is the field.

use std::collections::HashMap;

use heap_collector::Assemblies;
use static_fields::{TypeDefinition, thread_statics, type_definitions};

use super::types::{base, base_of_metadata, is_framework_module, state_machine};

/// Base types that are followed, at most.
const DEEPEST: usize = 8;

/// The types of the program's assemblies, read when they are asked for.
pub(super) struct Metadata<'a> {
    assemblies: &'a dyn Assemblies,
    known: HashMap<Box<str>, Vec<TypeDefinition>>,
}

impl<'a> Metadata<'a> {
    pub(super) fn new(assemblies: &'a dyn Assemblies) -> Metadata<'a> {
        Metadata { assemblies, known: HashMap::new() }
    }

    fn types(&mut self, module: &str) -> &[TypeDefinition] {
        let assemblies = self.assemblies;
        self.known.entry(module.into()).or_insert_with(|| {
            let file = module.rsplit(['/', '\\']).next().unwrap_or(module);
            if is_framework_module(file) {
                return Vec::new();
            }
            let bytes = assemblies.bytes(module);
            let mut types =
                bytes.and_then(|bytes| type_definitions(&bytes, |_| true).ok()).unwrap_or_default();
            for found in &mut types {
                found.name = base_of_metadata(&found.name);
                for field in &mut found.fields {
                    field.type_name = field.type_name.take().map(|name| base_of_metadata(&name));
                }
            }
            types
        })
    }

    /// The definitions that a name of the runtime may mean: it may lack the type around a nested one.
    fn definitions(&mut self, name: &str, module: &str) -> Vec<&TypeDefinition> {
        let name = base(name);
        let inner = format!("+{name}");
        let types = self.types(module).iter();
        types.filter(|known| known.name == name || known.name.ends_with(&inner)).collect()
    }

    /// The full name of a type, with the one around it, where that is certain.
    pub(super) fn full_name(&mut self, name: &str, module: Option<&str>) -> Option<String> {
        match self.definitions(name, module?)[..] {
            [only] => Some(only.name.replace('+', ".")),
            _ => None,
        }
    }

    /// Whether a type is a delegate.
    pub(super) fn is_delegate(&mut self, name: &str, module: Option<&str>) -> bool {
        module.is_some_and(|module| {
            self.bases(name, module).iter().any(|base| base == "System.MulticastDelegate")
        })
    }

    /// Whether a type wraps a handle of the operating system.
    pub(super) fn is_handle(&mut self, name: &str, module: Option<&str>) -> bool {
        let wraps = |base: &String| base.rsplit('.').next().is_some_and(|last| last.contains("SafeHandle"));
        module.is_some_and(|module| self.bases(name, module).iter().any(wraps))
    }

    /// The base types of a type, as far as its own assembly tells them.
    fn bases(&mut self, name: &str, module: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut at = name.to_owned();
        while found.len() < DEEPEST {
            let definitions = self.definitions(&at, module);
            let [only] = definitions[..] else { break };
            let Some(base) = only.base.clone() else { break };
            at.clone_from(&base);
            found.push(base);
        }
        found
    }

    /// The fields of a type that may hold an object of another, by their names: one is certain, several are a choice.
    pub(super) fn fields(&mut self, holder: &str, module: Option<&str>, held: &str) -> Vec<String> {
        let Some(module) = module else { return Vec::new() };
        let mut owners = vec![holder.to_owned()];
        owners.extend(self.bases(holder, module));
        let held = base(held);
        let (mut exact, mut vague) = (Vec::new(), Vec::new());
        for owner in owners {
            let definitions = self.definitions(&owner, module);
            let [only] = definitions[..] else { break };
            for field in &only.fields {
                match field.type_name.as_deref() {
                    Some(its_type) if its_type == held => exact.push(readable(&field.name)),
                    Some(its_type) if !is_interface(its_type) => {}
                    _ => vague.push(readable(&field.name)),
                }
            }
        }
        if exact.is_empty() { vague } else { exact }
    }

    /// The `[ThreadStatic]` fields of these modules that may hold an object of a type.
    pub(super) fn thread_statics(&mut self, held: &str, modules: &[Box<str>]) -> Vec<String> {
        let held = base(held);
        let mut found = Vec::new();
        for module in modules {
            let file = module.rsplit(['/', '\\']).next().unwrap_or(module);
            if is_framework_module(file) {
                continue;
            }
            let fields = self.assemblies.bytes(module).and_then(|bytes| thread_statics(&bytes).ok());
            for field in fields.into_iter().flatten() {
                if field.type_name.is_some_and(|its_type| base_of_metadata(&its_type) == held) {
                    found.push(format!(
                        "{}.{}",
                        base_of_metadata(&field.owner).replace('+', "."),
                        field.name
                    ));
                }
            }
        }
        found
    }

    /// The method of an `async` operation with its type, `Shop.Hub.WaitAsync`, if one of these modules has it alone.
    pub(super) fn async_method(&mut self, name: &str, modules: &[Box<str>]) -> Option<String> {
        let state = state_machine(name)?;
        let mut found: Vec<String> = Vec::new();
        for module in modules {
            found.extend(self.definitions(state, module).iter().map(|known| known.name.clone()));
        }
        found.sort();
        found.dedup();
        let [only] = &found[..] else { return None };
        let (owner, state) = only.rsplit_once('+')?;
        let method = state.strip_prefix('<')?.split_once('>')?.0;
        Some(format!("{}.{method}", owner.replace('+', ".")))
    }
}

fn is_interface(name: &str) -> bool {
    let mut last = name.rsplit('.').next().unwrap_or(name).chars();
    last.next() == Some('I') && last.next().is_some_and(char::is_uppercase)
}

/// The field that the compiler makes for a property, by the name of the property.
fn readable(field: &str) -> String {
    let property = field.strip_prefix('<').and_then(|rest| rest.strip_suffix(">k__BackingField"));
    property.unwrap_or(field).to_owned()
}
