"""Fuzzing of files from untrusted sources: each is read and can be used, or is refused in one line."""
