"""The command `evaluate`, which estimates the return of a policy by simulation, exactly, or from a log."""

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
from suffice.data.memory_limit import keep_to_memory
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
    memory: str | None = None,
    choice: DomainChoice = DEFAULT_CHOICE,
    options: LogOptions = DEFAULT_LOG,
) -> None:
    """Estimate the return of a policy, in a domain or from a log.

    In a domain the policy is run beside the behaviour policy and compared with the optimum; --exact computes expected
    values instead. An episode with any positive reward is a success. From a log of episodes that were not used for
    learning, three off-policy estimates with confidence intervals are computed, and decisions with few examples in the
    log are listed.

    Examples:

        suffice evaluate maze.model --domain t-maze
        suffice evaluate maze.model --domain t-maze --exact    # no sampling
        suffice evaluate held.model --log log.parquet          # with --hold-out
        suffice evaluate maze.model --domain suffice/TMaze-v0 --episodes 100

    Parameters
    ----------
    model
        Model file.
    domain
        Name of a domain (see suffice domains), .POMDP file, or Gymnasium id with options given by --set. An environment
        of your own package is MODULE:ID.
    log
        Log to evaluate on. The log of a model learned with --hold-out may be used: only held-out episodes count.
    episodes
        Number of episodes to run.
    seed
        Seed of the episodes.
    exact
        Compute expected values without sampling.
    json
        Print JSON and nothing else.
    memory
        Most memory that the command may take, such as 4GB; what does not fit is refused. Default: half of all memory.
    """
    from suffice.domains.model_evaluation import is_environment
    from suffice.models.model import Model

    if (domain is None) == (log is None):
        raise SufficeError("evaluate: exactly one of --domain and --log is needed. Add --domain NAME or --log LOG.")
    if episodes < 1:
        raise SufficeError(f"--episodes {episodes} is too few. Use 1 or more.")
    refuse_seed(seed)
    keep_to_memory(memory)
    loaded = Model.load(model)
    try:
        loaded.required_plan()
    except SufficeError as error:
        raise SufficeError(f"{model}: {error}") from None
    if log is not None:
        refuse_domain_options(choice)
        if exact or (episodes, seed) != (DEFAULT_EPISODES, 0):
            raise SufficeError("--exact, --episodes and --seed apply to --domain only. Leave them out with --log.")
        by_log(loaded, model, log, options, json)
        return
    assert domain is not None
    if words(options):
        raise SufficeError(f"{words(options)} applies to logs only, and none is given. Leave it out.")
    if names_domain(domain) or not is_environment(domain):  # an unknown name is treated as a misspelt domain
        by_domain(loaded, model, domain, choice, episodes, seed, exact, json)
    else:
        if exact:
            raise SufficeError(
                f"--exact needs a finite model, and {domain} is a Gymnasium environment. Leave --exact out."
            )
        by_environment(loaded, model, domain, choice, episodes, seed, json)
