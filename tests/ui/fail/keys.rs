//! Messages about keys. One crate, because each costs a call of rustc.

mod keys {
    mod consecutive;
    mod crate_path_quoted;
    mod cut_on_and_stop_on;
    mod error_keeps_function;
    mod error_keeps_names;
    mod flag_without_codes;
    mod key_duplicate;
    mod key_missing;
    mod key_of_policy;
    mod key_unfinished;
    mod key_unknown_counts;
    mod key_unknown_elsewhere;
    mod key_unknown_judges;
    mod key_unknown_list;
    mod key_unknown_suggest;
    mod key_unknown_times;
    mod key_without_value;
    mod many_errors_at_once;
    mod missing_comma;
    mod stop_on_blocking;
    mod sync_async_only_option;
    mod values_of_wrong_kind;
}

fn main() {}
