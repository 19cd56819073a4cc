//! Messages about codes. One crate, because each costs a call of rustc.

mod codes {
    mod faults_with_patterns;
    mod on_classes;
    mod on_empty_range;
    mod on_grpc_names;
    mod on_half_open;
    mod on_lone_pattern;
    mod on_lone_variant;
    mod on_not_a_list;
    mod on_other_lists;
    mod on_out_of_range;
    mod on_overlap;
    mod on_status_code;
    mod on_wildcard;
    mod on_with_when;
}

fn main() {}
