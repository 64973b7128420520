"""The curves that the paper lacks, one study per file."""
