"""Cassandra's `.POMDP` text format: read it, simulate it, write it."""

from suffice.domains.pomdp.domain import PomdpDomain
from suffice.domains.pomdp.reading import Pomdp, read_pomdp
from suffice.domains.pomdp.writing import rdp_to_pomdp, to_pomdp, write_pomdp

__all__ = ["Pomdp", "PomdpDomain", "rdp_to_pomdp", "read_pomdp", "to_pomdp", "write_pomdp"]
