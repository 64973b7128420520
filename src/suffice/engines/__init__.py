"""Where the counting runs: the one seam below the learner."""
