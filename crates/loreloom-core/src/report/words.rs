//! Verdicts in plain English, for the command line.
