//! A policy as a layer of tower.
