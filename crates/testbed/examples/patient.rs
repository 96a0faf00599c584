//! Starts a patient, prints its pid, and stops it when its own standard input ends:
//! `cargo run -p testbed --example patient hot-method 9 [ARGUMENT=VALUE...]`.
#![expect(clippy::unwrap_used, reason = "an example for people at a terminal")]

use std::io::Read;

use testbed::Runtime;

fn main() {
    let mut words = std::env::args().skip(1);
    let (patient, runtime) = (words.next().unwrap(), words.next().unwrap());
    let runtime = match runtime.as_str() {
        "3.1" => Runtime::Net31,
        "8" => Runtime::Net8,
        _ => Runtime::Net9,
    };
    let builder = testbed::shared().target(&patient, runtime);
    let target = words.fold(builder, |builder, word| builder.arg(word)).start().unwrap();
    println!("{}", target.pid());
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
