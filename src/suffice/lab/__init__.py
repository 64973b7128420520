"""The laboratory: experiments as data, baselines, the paper's table and the curves it lacks (`suffice reproduce`).

    experiment   what is run, and what comes out: an `Experiment` and its `Result`
    knowing      the exact truth about a domain
    scoring      a learned automaton against it, and what its plan brings
    peers/       AALpy and FlexFringe on the same episodes
    learners     all learners by name, ours and theirs
    performing   one experiment, from data to result
    running      many of them: in processes of their own, each result a file (`store`), and a stopped run goes on
    study        a list of experiments, and what to make of their results: `table1`, those of `curves/`
    reproducing  all of it for a command: run what is missing, analyse what there is, write it down
    figures      the paper's automata, learned and drawn

Running is apart from analysing: a list of experiments and a folder of results is all that passes between them.
"""
