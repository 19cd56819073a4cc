//! Transactions and connections of databases.
