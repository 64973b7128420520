"""Faults outside the program: killed processes, full disks, damaged files, and large loads."""
