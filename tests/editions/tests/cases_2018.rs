//! x
#[test] fn f() { let async_ = 1; assert_eq!(async_, 1); }
