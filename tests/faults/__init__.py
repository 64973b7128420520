"""What may go wrong outside of our programs: deaths, full disks, damaged files, and loads."""
