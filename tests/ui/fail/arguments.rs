//! Messages about arguments. One crate, because each costs a call of rustc.

mod arguments {
    mod arg_mut_undecided;
    mod attempt_hides_argument;
    mod clone_and_keep;
    mod clone_reference;
    mod clone_unknown_arg;
    mod keep_mut;
}

fn main() {}
