"""Files from anywhere: whatever is in them, they are read and can be used, or are refused in one line."""
