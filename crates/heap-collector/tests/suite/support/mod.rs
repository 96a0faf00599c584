//! The patient `known-heap`: what it says it made, held against what was taken.
#![expect(clippy::unwrap_used, reason = "clippy knows test functions, but not the functions that they call")]

use std::collections::BTreeMap;
use std::time::Duration;

use discovery::{DotnetProcess, Options as Find, find};
use event_session::Going;
use heap_collector::{Stage, Taken, Watch, Wish, take, take_by_events};
use heap_graph::{Dominators, HeapGraph, NodeId, RootKind, ShortestPaths, TypeId};
use model::ProcessId;
use testbed::{Runtime, Target, shared};

/// Goes on to the end.
pub struct Patient;

impl Watch for Patient {
    fn look(&mut self, stage: &Stage) -> Going {
        std::thread::sleep(stage.slice);
        Going::On
    }
}

/// A museum with these arguments.
pub fn museum(runtime: Runtime, arguments: &[&str]) -> (Target, DotnetProcess) {
    let builder = shared().target("known-heap", runtime);
    let target = arguments.iter().fold(builder, |builder, word| builder.arg(*word)).start().unwrap();
    let process = found(&target);
    (target, process)
}

/// A target as it is found.
pub fn found(target: &Target) -> DotnetProcess {
    let options = Find { timeout: Duration::from_secs(60) };
    find(ProcessId(target.pid()), &options).unwrap()
}

/// Takes a heap by the best way, however long that stops the program.
pub fn taken(process: &DotnetProcess) -> Taken {
    let wish = Wish { allow_pause: true, ..Wish::default() };
    take(process, &wish, &mut Patient).unwrap_or_else(|error| panic!("{error}"))
}

/// Takes a heap by the runtime's events over its socket.
pub fn taken_by_events(process: &DotnetProcess) -> Taken {
    let wish = Wish { allow_pause: true, ..Wish::default() };
    take_by_events(process, &wish, &mut Patient).unwrap_or_else(|error| panic!("{error}"))
}

/// A graph with what tests ask of it.
pub struct Known {
    pub graph: HeapGraph,
    pub dominators: Dominators,
    pub paths: ShortestPaths,
}

impl Known {
    pub fn of(mut graph: HeapGraph) -> Known {
        // With the runtime's own tables, a static field holds nothing alone.
        graph.cut_statics_tables();
        let dominators = Dominators::of(&graph);
        let paths = ShortestPaths::of(&graph);
        Known { graph, dominators, paths }
    }

    /// The live objects of a type.
    pub fn members(&self, name: &str) -> Vec<NodeId> {
        let types: Vec<TypeId> = self
            .graph
            .types()
            .filter(|(_, info)| inner(&info.name) == inner(name))
            .map(|(id, _)| id)
            .collect();
        let is_one = |node: &NodeId| types.contains(&self.graph.type_of(*node));
        self.graph.nodes().filter(is_one).filter(|&node| self.dominators.is_reachable(node)).collect()
    }

    /// How many live objects each type has.
    pub fn census(&self) -> BTreeMap<String, u64> {
        let mut census = BTreeMap::new();
        for node in self.graph.nodes().filter(|&node| self.dominators.is_reachable(node)) {
            let name = inner(&self.graph.type_info(self.graph.type_of(node)).name);
            *census.entry(name.to_owned()).or_default() += 1;
        }
        census
    }

    /// Their bytes.
    pub fn bytes(&self, members: &[NodeId]) -> u64 {
        members.iter().map(|&node| self.graph.size(node)).sum()
    }

    /// The shortest way to an object, as claims are written.
    pub fn way(&self, node: NodeId) -> String {
        let Some((root, steps)) = self.paths.path(node) else { return "nothing".to_owned() };
        let root = self.graph.root(root);
        let mut parts = vec![match (root.kind, root.name) {
            (RootKind::StaticField, Some(name)) => format!("static {name}"),
            (RootKind::ThreadStaticField, Some(name)) => format!("thread-static {name}"),
            (RootKind::StrongHandle, _) => "strong handles".to_owned(),
            (RootKind::PinnedHandle, _) => "pinned handles".to_owned(),
            (RootKind::Local | RootKind::PinnedLocal, _) => "local variables".to_owned(),
            (kind, name) => format!("{kind:?} {name:?}"),
        }];
        parts.extend(
            steps
                .iter()
                .map(|step| inner(&self.graph.type_info(self.graph.type_of(step.node)).name).to_owned()),
        );
        parts.join(" > ")
    }

    /// What is wrong with one line that the program printed; nothing when it is no claim.
    pub fn wrong(&self, line: &str) -> Option<String> {
        let (kind, rest) = line.split_once(' ')?;
        let (expected, found) = match kind {
            "type" => {
                let [name, count, bytes] = words(rest);
                let members = self.members(name);
                (format!("{count} with {bytes}"), format!("{} with {}", members.len(), self.bytes(&members)))
            }
            "size" => {
                let [name, bytes, count] = words(rest);
                let size: u64 = bytes.parse().unwrap();
                let of_size = |node: &&NodeId| self.graph.size(**node) == size;
                let members = self.members(name);
                (count.to_owned(), members.iter().filter(of_size).count().to_string())
            }
            "retained" => {
                let (name, bytes) = rest.rsplit_once(' ').unwrap();
                let members = self.members(name);
                let mut retained: Vec<u64> =
                    members.iter().map(|&node| self.dominators.retained(node)).collect();
                retained.dedup();
                (format!("each [{bytes}]"), format!("each {retained:?}"))
            }
            "chain" => {
                let [name, count, each] = words(rest);
                let (count, each): (u64, u64) = (count.parse().unwrap(), each.parse().unwrap());
                let members = self.members(name);
                let mut retained: Vec<u64> =
                    members.iter().map(|&node| self.dominators.retained(node)).collect();
                retained.sort_unstable();
                let right = retained.iter().copied().eq((1..=count).map(|links| links * each));
                ("a chain".to_owned(), if right { "a chain".to_owned() } else { "no chain".to_owned() })
            }
            "path" => {
                let (root, _) = rest.split_once(" > ").unwrap();
                let name = rest.rsplit(" > ").next().unwrap();
                let types = rest[root.len()..].split(" > ").map(inner).collect::<Vec<_>>().join(" > ");
                let expected = format!("{}{types}", &root[name.len() + 1..]);
                let mut ways: Vec<String> = self.members(name).iter().map(|&node| self.way(node)).collect();
                ways.sort();
                ways.dedup();
                // Heap events do not name static fields of threads: the runtime's table of them is what they tell.
                let table = format!(" > System.Object[] > {name}");
                if expected.starts_with("thread-static ") && ways.iter().all(|way| way.ends_with(&table)) {
                    return None;
                }
                (format!("{:?}", [expected]), format!("{ways:?}"))
            }
            _ => return None,
        };
        (expected != found).then(|| format!("{line}\n    expected {expected}\n    found    {found}"))
    }
}

/// The name of a type without those around it, which heap events leave out: `Entry<Int64>` of `Dictionary+Entry<Int64>`.
fn inner(name: &str) -> &str {
    let outer = name.split('<').next().unwrap_or(name);
    outer.rfind('+').map_or(name, |plus| &name[plus + 1..])
}

/// The last words of a line, the first of which may hold blanks (names of generic types do).
fn words(line: &str) -> [&str; 3] {
    let mut parts = line.rsplitn(3, ' ');
    let (last, middle, first) = (parts.next(), parts.next(), parts.next());
    [first.unwrap(), middle.unwrap(), last.unwrap()]
}

/// Everything that the program said it made is there, and nothing else of it.
#[track_caller]
pub fn check(known: &Known, target: &Target) {
    let lines = target.lines_before_ready();
    let wrong: Vec<String> = lines.iter().filter_map(|line| known.wrong(line)).collect();
    assert!(wrong.is_empty(), "{}:\n{}", target.runtime(), wrong.join("\n"));
    let claims = lines.iter().filter(|line| line.starts_with("type ")).count();
    assert!(claims > 15, "{}: only {claims} types were claimed", target.runtime());
}
