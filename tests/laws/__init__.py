"""Properties that hold for every log, checked on many."""
