"""How good is a policy? By trying it, by exact arithmetic, or by a log. Heavy imports wait until they are needed."""

from __future__ import annotations

from suffice.cli.app import app
from suffice.cli.evaluating_domains import by_domain, by_environment
from suffice.cli.evaluating_logs import by_log
from suffice.cli.names import DomainName, FileName
from suffice.cli.options import (
    DEFAULT_CHOICE,
    DEFAULT_LOG,
    DomainChoice,
    Flag,
    LogOptions,
    Whole,
    names_domain,
    refuse_domain_options,
    refuse_seed,
    words,
)
from suffice.errors import SufficeError

DEFAULT_EPISODES = 10_000


@app.command
def evaluate(
    model: FileName,
    /,
    *,
    domain: DomainName | None = None,
    log: FileName | None = None,
    episodes: Whole = DEFAULT_EPISODES,
    seed: Whole = 0,
    exact: Flag = False,
    json: Flag = False,
    choice: DomainChoice = DEFAULT_CHOICE,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Say what a model's policy brings, by trying it or by a log.

    In a domain the policy is tried beside the behaviour and the best policy there is; --exact computes what is expected
    instead. An episode is a success if it brings any positive reward. A log of episodes that were not learned from
    gives three estimates, with confidence intervals, and says where the policy goes and the log does not: that is all
    one can know without trying.

    Examples:

        suffice evaluate maze.model --domain t-maze
        suffice evaluate maze.model --domain t-maze --exact    # no sampling
        suffice evaluate held.model --log log.parquet          # of --hold-out
        suffice evaluate maze.model --domain suffice/TMaze-v0 --episodes 100

    Parameters
    ----------
    model
        Model file.
    domain
        Name of a domain (suffice domains lists them), a .POMDP file, or a Gymnasium id, whose options are given with
        --set; an environment of your own is MODULE:ID.
    log
        Log to evaluate by; the one that was learned from if the model was learned with --hold-out.
    episodes
        How many to try.
    seed
        Same seed, same result.
    exact
        Compute the expected values, without sampling.
    json
        Print JSON and nothing else.
    """
    from suffice.domains.model_evaluation import is_environment
    from suffice.models.model import Model

    if (domain is None) == (log is None):
        raise SufficeError("say where to evaluate: either --domain NAME or --log LOG")
    if episodes < 1:
        raise SufficeError(f"--episodes must be at least 1, not {episodes}")
    refuse_seed(seed)
    loaded = Model.load(model)
    try:
        loaded.required_plan()
    except SufficeError as error:
        raise SufficeError(f"{model}: {error}") from None
    if log is not None:
        refuse_domain_options(choice)
        if exact or (episodes, seed) != (DEFAULT_EPISODES, 0):
            raise SufficeError("--exact, --episodes and --seed are for --domain NAME; leave them out")
        by_log(loaded, model, log, options, json)
        return
    assert domain is not None
    if words(options):
        raise SufficeError(f"{words(options)} is about a log, and none is named; leave it out")
    if names_domain(domain) or not is_environment(domain):  # what is unknown is taken for a misspelt domain
        by_domain(loaded, model, domain, choice, episodes, seed, exact, json)
    else:
        if exact:
            raise SufficeError(f"--exact needs a finite model, which {domain} does not give; leave --exact out")
        by_environment(loaded, model, domain, choice, episodes, seed, json)
