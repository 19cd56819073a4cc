//! The means that the simulation of contention must meet: means of 1,000 seeds with their standard
//! errors, from a run of the same model by other code.

use crate::stats::Mean;

/// The columns.
pub(crate) const STRATEGIES: [&str; 5] = ["none", "exponential", "full", "equal", "decorrelated"];

/// Calls and their standard error, milliseconds to completion and their standard error.
type Row = [[f64; 4]; 5];

/// By the number of clients.
pub(crate) const PUBLISHED: [(u32, Row); 5] = [
    (
        10,
        [
            [51.2, 0.1, 382.0, 1.0],
            [50.8, 0.1, 3462.0, 41.0],
            [39.1, 0.1, 467.0, 4.0],
            [42.6, 0.1, 733.0, 6.0],
            [37.6, 0.1, 436.0, 3.0],
        ],
    ),
    (
        20,
        [
            [152.9, 0.4, 606.0, 2.0],
            [150.1, 0.4, 14392.0, 90.0],
            [100.3, 0.1, 993.0, 8.0],
            [108.1, 0.1, 1633.0, 15.0],
            [101.2, 0.2, 818.0, 5.0],
        ],
    ),
    (
        50,
        [
            [689.8, 0.5, 1140.0, 1.0],
            [624.3, 0.9, 36514.0, 100.0],
            [332.3, 0.2, 2875.0, 17.0],
            [347.1, 0.2, 4215.0, 17.0],
            [374.1, 0.4, 2188.0, 15.0],
        ],
    ),
    (
        100,
        [
            [2420.0, 2.0, 2023.0, 3.0],
            [1853.0, 2.0, 63297.0, 117.0],
            [795.9, 0.2, 4903.0, 17.0],
            [812.2, 0.2, 6649.0, 21.0],
            [1000.7, 0.9, 4599.0, 22.0],
        ],
    ),
    (
        200,
        [
            [8819.0, 5.0, 3708.0, 3.0],
            [5614.0, 4.0, 104_974.0, 136.0],
            [1890.5, 0.4, 7704.0, 17.0],
            [1872.4, 0.4, 9693.0, 20.0],
            [2615.7, 1.9, 8240.0, 28.0],
        ],
    ),
];

/// One cell of the published table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) calls: Mean,
    /// In milliseconds.
    pub(crate) completion: Mean,
}

/// What was published for so many clients and this strategy, if anything was.
pub(crate) fn find(clients: u32, strategy: &str) -> Option<Published> {
    let column = STRATEGIES.iter().position(|&name| name == strategy)?;
    let (_, row) = PUBLISHED.iter().find(|(number, _)| *number == clients)?;
    let [calls, calls_error, completion, completion_error] = row[column];
    let mean = |mean, error| Mean { mean, error };
    Some(Published {
        calls: mean(calls, calls_error),
        completion: mean(completion, completion_error),
    })
}
