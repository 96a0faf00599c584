//! Names and lines of real programs on 3.1, 8, 9 and 10.

use std::collections::BTreeMap;
use std::path::Path;

use crate::session::{STRANGER, Subject};
use diagnostics_ipc::Rundown;
use symbols::{
    LIVE_FOR_LINES, LineKind, MethodKind, RUNDOWN_FOR_LINES, RUNDOWN_FOR_NAMES, SourceLine, SourceLookup,
    SymbolError, is_framework,
};
use testbed::Runtime;

const PATIENTS: [Runtime; 4] = Runtime::ALL;

/// The line of a patient's source that has a text.
fn line_with(source: &str, text: &str) -> u32 {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../patients").join(source);
    let source = std::fs::read_to_string(path).expect("the patient's source");
    let found = source.lines().zip(1..).find(|(line, _)| line.contains(text));
    found.unwrap_or_else(|| panic!("no line has {text}")).1
}

#[test]
fn every_shape_of_code_has_its_name_and_line() {
    let shapes = [
        ("plain", "Gallery.Shapes.Plain"),
        ("lambda", "Gallery.Shapes.Lambda.(lambda 0)"),
        ("second-lambda", "Gallery.Shapes.SecondLambda.(lambda 1)"),
        ("closure", "Gallery.Shapes.Closure.(lambda 0)"),
        ("local", "Gallery.Shapes.Local.Hold (local)"),
        ("local-closure", "Gallery.Shapes.LocalClosure.Hold (local)"),
        ("async", "Gallery.Shapes.WaitAsync [async]"),
        ("async-generic", "Gallery.Shapes.WaitAsync<System.Int32> [async]"),
        ("async-lambda", "Gallery.Shapes.AsyncLambda.(lambda 0) [async]"),
        ("async-local", "Gallery.Shapes.AsyncLocal.HoldAsync (local) [async]"),
        ("iterator", "Gallery.Shapes.Items [iterator]"),
        ("async-iterator", "Gallery.Shapes.ItemsAsync [async]"),
        ("generic-method", "Gallery.Shapes.Generic"),
        ("generic-type", "Gallery.Frame<System.Int32>.Corner<__Canon>.Hang"),
        ("property", "Gallery.Frame<__Canon>.get_Size"),
        ("explicit", "Gallery.Frame<System.Int32>.System.Collections.IEnumerable.GetEnumerator"),
    ];
    for runtime in PATIENTS {
        let subject = Subject::start("healthy-code-shapes", runtime);
        let seeing = subject.sample(Rundown::Default, 0);
        let mut sources = SourceLookup::new(Some(subject.root()));
        let found: BTreeMap<String, SourceLine> = seeing
            .frames(&mut sources)
            .into_iter()
            .filter_map(|(method, line)| Some((method.human_name(), line?)))
            .collect();
        for (mark, name) in shapes {
            let expected = SourceLine {
                file: "/patients/embedded/CodeShapes.cs".into(),
                line: line_with("embedded/CodeShapes.cs", &format!("; // {mark}")),
                kind: LineKind::Exact,
            };
            assert_eq!(found.get(name), Some(&expected), "{runtime}: {mark}: {found:#?}");
        }
        for (method, _) in seeing.frames(&mut sources) {
            if method.raw_method() == "Hang" {
                assert_eq!(
                    method.signature().map(|text| text.to_string()).as_deref(),
                    Some("(int, __Canon)")
                );
                assert_eq!(method.module_name(), Some("PatientsEmbedded"));
                assert!(!is_framework(&method.frame()) && method.kind() == MethodKind::Jitted);
            }
            if method.raw_method() == "Sleep" {
                assert_eq!(method.module_name(), Some("System.Private.CoreLib"));
                assert!(is_framework(&method.frame()));
            }
        }
    }
}

#[test]
fn lines_come_from_the_symbol_file_beside_the_assembly() {
    let calls = line_with("portable/HotMethod.cs", "book.FindBest(");
    let body = line_with("portable/HotMethod.cs", "public int FindBest(");
    for runtime in PATIENTS {
        let subject = Subject::start("hot-method", runtime);
        // The method is compiled several times: each time it has another map.
        let seeing = subject.sample(Rundown::Default, LIVE_FOR_LINES);
        let mut sources = SourceLookup::new(Some(subject.root()));
        let (mut callers, mut bodies) = (0, 0);
        for (method, line) in seeing.frames(&mut sources) {
            match (method.human_name().as_str(), line) {
                ("Pricing.Till.ServeCustomers", Some(at)) if at.line == calls => callers += 1,
                ("Pricing.DiscountBook.FindBest", Some(at)) => {
                    assert!(at.file.ends_with("HotMethod.cs") && at.kind == LineKind::Exact, "{at:?}");
                    assert!((body..body + 14).contains(&at.line), "{runtime}: {at:?}");
                    bodies += 1;
                }
                _ => {}
            }
        }
        assert!(callers > 0 && bodies > 0, "{runtime}: {callers} {bodies}");
    }
}

#[test]
fn without_il_maps_a_frame_has_the_first_line_of_its_method() {
    let subject = Subject::start("hot-method", Runtime::Net9);
    let seeing = subject.sample(Rundown::Keywords(RUNDOWN_FOR_NAMES), 0);
    assert_eq!(seeing.code.naming().with_il_map, 0);
    let mut sources = SourceLookup::new(Some(subject.root()));
    let frames = seeing.frames(&mut sources);
    let found = frames.iter().find(|(method, _)| method.raw_method() == "FindBest").expect("it is hot");
    let line = found.1.as_ref().expect("it has a symbol file");
    assert_eq!(line.kind, LineKind::MethodStart);
    assert_eq!(line.line, line_with("portable/HotMethod.cs", "var best = 0;"));
}

#[test]
fn a_symbol_file_of_another_build_is_refused() {
    let subject = Subject::start("hot-method", Runtime::Net9);
    let seeing = subject.sample(Rundown::Keywords(RUNDOWN_FOR_LINES), 0);
    let frames = seeing.frames(&mut SourceLookup::new(Some(subject.root())));
    let module = frames.iter().find_map(|(method, line)| line.as_ref().and(method.module_path())).unwrap();
    let folder = Path::new(module).parent().unwrap().strip_prefix("/").unwrap();

    let root = tempfile::tempdir().unwrap();
    let beside = root.path().join(folder);
    std::fs::create_dir_all(&beside).unwrap();
    let lines = || {
        let mut sources = SourceLookup::new(Some(root.path().to_owned()));
        let lines = seeing.frames(&mut sources).into_iter().filter_map(|(_, line)| line).count();
        (lines, sources)
    };
    // None at all.
    let (count, sources) = lines();
    assert_eq!(count, 0);
    assert!(sources.problems().all(|problem| matches!(problem, SymbolError::NotFound { .. })));
    // That of another assembly.
    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/beside.pdb");
    std::fs::copy(other, beside.join("Patients.pdb")).unwrap();
    let (count, sources) = lines();
    assert_eq!(count, 0);
    assert!(sources.problems().any(|problem| matches!(problem, SymbolError::OtherBuild { .. })));
    // The right one, but outside the root: a link of the target cannot lead there.
    std::fs::remove_file(beside.join("Patients.pdb")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let real = outside.path().join("Patients.pdb");
    std::fs::copy(Path::new(module).with_extension("pdb"), &real).unwrap();
    std::os::unix::fs::symlink(&real, beside.join("Patients.pdb")).unwrap();
    assert_eq!(lines().0, 0);
    // A folder in its place.
    std::fs::remove_file(beside.join("Patients.pdb")).unwrap();
    std::fs::create_dir(beside.join("Patients.pdb")).unwrap();
    let (count, sources) = lines();
    assert_eq!(count, 0);
    assert!(sources.problems().any(|problem| matches!(problem, SymbolError::Unreadable { .. })));
    // The right one.
    std::fs::remove_dir(beside.join("Patients.pdb")).unwrap();
    std::fs::copy(real, beside.join("Patients.pdb")).unwrap();
    assert!(lines().0 > 0);
}

#[test]
fn a_program_without_symbol_files_has_names_and_no_lines() {
    let subject = Subject::start(STRANGER, Runtime::Net10);
    let seeing = subject.sample(Rundown::Default, 0);
    let (named, all) = seeing.named();
    println!("{named} of {all} frames, {:?}", seeing.code.naming());
    assert!(named * 100 >= all * 95, "{named} of {all}");
    let mut sources = SourceLookup::new(Some(subject.root()));
    let frames = seeing.frames(&mut sources);
    assert!(frames.iter().all(|(_, line)| line.is_none()));
    let problems: Vec<&SymbolError> = sources.problems().collect();
    assert!(!problems.is_empty());
    let expected =
        |problem: &&&SymbolError| !matches!(problem, SymbolError::NotFound { .. } | SymbolError::NoId { .. });
    assert_eq!(problems.iter().find(expected).map(|problem| problem.to_string()), None);
}

#[test]
fn code_of_a_web_server_has_names() {
    let subject = Subject::start("aspnet-two-routes", Runtime::Net9);
    let seeing = subject.sample(Rundown::Default, 0);
    let (named, all) = seeing.named();
    let naming = seeing.code.naming();
    println!("{named} of {all} frames, {naming:?}");
    // Of few frames, two may be stubs of the runtime.
    assert!(all >= 50 && (named * 100 >= all * 98 || all - named <= 2), "{named} of {all}");
    assert_eq!(naming.dropped, 0);
    let mut sources = SourceLookup::new(Some(subject.root()));
    let mut kinds = BTreeMap::<String, u32>::new();
    let mut own = Vec::new();
    for (method, line) in seeing.frames(&mut sources) {
        *kinds.entry(format!("{:?}", method.kind())).or_default() += 1;
        let frame = method.frame();
        if !is_framework(&frame) {
            own.push((frame.name, line));
        }
    }
    assert!(kinds.contains_key("ReadyToRun") && kinds.contains_key("Jitted"), "{kinds:?}");
    let burn = own.iter().find(|(name, _)| name == "Tickets.Api.Booking.Burn").expect("it is busy");
    assert!(burn.1.as_ref().is_some_and(|line| line.file.ends_with("AspnetTwoRoutes.cs")), "{burn:?}");
}
