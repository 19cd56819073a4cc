//! Messages about functions. One crate, because each costs a call of rustc.

mod functions {
    mod block_nothing;
    mod block_of_a_call;
    mod const_fn;
    mod derive_fault;
    mod future_early_return;
    mod future_of_branches;
    mod future_without_async_block;
    mod method_without_body;
    mod not_a_function;
    mod ret_mut_borrow;
    mod ret_no_result;
    mod ret_not_result;
    mod ret_shared_borrow;
    mod ret_unit;
    mod retry_twice;
    mod test_attr_above;
}

fn main() {}
