//! Whole transactions against real databases.
