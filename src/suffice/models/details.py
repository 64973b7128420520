"""Details of a model as text: what `suffice learn --why` prints, and `model.why()` returns.

Guarantee, refinement, languages needed, the forecast of the plan and the evidence for columns as sentences; then
examples of events that distinguish states, and of merges that more episodes might undo.
"""

from __future__ import annotations

from suffice.automata.describe import describe_witness, show_pair
from suffice.errors import parameter, visible
from suffice.models.column_texts import column_sentences
from suffice.models.memory_texts import comparison_lines
from suffice.models.model import Model
from suffice.models.sentences import needed_sentence, plan_sentence


def detail_sentences(model: Model) -> list[str]:
    """Return the sentences on guarantee, refinement, languages, forced merges and plan, without empty ones."""
    about = model.about
    forced = f"{about.forced_share:.1%} of the data joined a state only because it is rarer than {parameter('cut')}."
    found = (
        about.promise.sentence,
        about.promise.second_sentence,
        needed_sentence(about),
        forced if about.forced_share else "",
        plan_sentence(about),
        *column_sentences(about.columns_found or None),
    )
    return [sentence for sentence in found if sentence]


def witness_lines(model: Model, most: int) -> list[str]:
    """Return a heading and up to `most` events whose frequencies distinguish two states; nothing if there are none."""
    alphabet = model.in_words.rdp.alphabet
    promoted = [d for d in model.decisions if d.placement.promoted and d.placement.witness][: max(most, 0)]
    lines = ["Examples of events that distinguish states:"] if promoted else []
    for decision in promoted:
        placement = decision.placement
        other = "another" if placement.nearest is None else placement.nearest
        where = "" if model.rdp.stationary else f"layer {decision.layer}, "
        lines.append(f"  {where}states {placement.target} and {other}: {describe_witness(placement.witness, alphabet)}")
    return lines


def undecided_lines(model: Model, most: int) -> list[str]:
    """Return a heading and up to `most` of the merges that more episodes might undo; nothing if there are none."""
    if most <= 0:
        return []
    model = model.in_words
    found = model.undecided_if_known()
    if found is None:
        return [f"Undecided merges are not known: the bound {model.about.bound!r} is not installed here."]
    lines = [f"Undecided merges ({len(found):,}), for example:"] if found else []
    for merge in found[:most]:
        candidate, joined = show_pair(*merge.histories)
        where = "" if model.rdp.stationary else f"layer {merge.layer}: "
        difference = describe_witness(merge.witness, model.rdp.alphabet)
        lines.append(f"  {where}{candidate}  with  {joined}")
        lines.append(
            f"    {difference}; if this difference is real, about {merge.episodes:,.0f} episodes would show it"
        )
    return lines


def details(model: Model, most: int) -> str:
    """Return all details of a model as text; see `Model.why`."""
    lines = [
        *comparison_lines(model.about),
        *detail_sentences(model),
        *witness_lines(model, most),
        *undecided_lines(model, most),
    ]
    return "\n".join(map(visible, lines))
