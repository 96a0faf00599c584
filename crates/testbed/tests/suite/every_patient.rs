//! Every patient says `ready` on the runtimes that its header lists: on two of them in each run.

use std::sync::Mutex;

use testbed::{Patient, Runtime, patients, shared, two_of};

/// Started at once. Some patients keep a core busy, and CI machines have two.
const AT_ONCE: usize = 2;

#[test]
fn every_patient_is_ready_on_the_runtimes_it_supports() {
    shared().prepare(&Runtime::ALL).expect("the shared testbed ends the process when it is not usable");

    let mut starts: Vec<(&Patient, Runtime)> = patients()
        .iter()
        .flat_map(|patient| two_of(&patient.runtimes).into_iter().map(move |runtime| (patient, runtime)))
        .collect();
    starts.reverse();
    let queue = Mutex::new(starts);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                // Bound to a name first: in a `while let` the lock would be held for the whole round.
                let next = || queue.lock().unwrap().pop();
                while let Some((patient, runtime)) = next() {
                    if let Err(failure) = start(patient, runtime) {
                        failures.lock().unwrap().push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} starts failed:\n\n{}", failures.len(), failures.join("\n\n"));
}

fn start(patient: &Patient, runtime: Runtime) -> Result<(), String> {
    let target = shared().target(patient.id, runtime).start().map_err(|error| error.to_string())?;
    if !target.is_alive() {
        return Err(format!(
            "{} on .NET {runtime} ended right after `ready`:\n{}",
            patient.id,
            target.stderr_text()
        ));
    }
    Ok(())
}
