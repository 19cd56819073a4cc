//! Budgets and outages.
