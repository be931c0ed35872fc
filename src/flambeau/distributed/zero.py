"""Shards the optimiser's state (ZeRO-1): each worker stores and updates the state of its own parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..runtime.exchange import leaf
from ..runtime.run import Readback
from ..tensor import Tensor
from .elastic import decode, encode
from .group import ProcessGroup
from .model import gather, gather_bytes


class OwnedState:
    """Restricts an optimiser to the parameters that this worker owns.

    params: all parameters; owners: the rank of each.
    """

    def __init__(self, optimizer: Any, params: Sequence[Tensor], owners: Sequence[int], group: ProcessGroup):
        self.optimizer, self.params, self.owners, self.group = optimizer, params, owners, group
        self.owned = [i for i, owner in enumerate(owners[: len(params)]) if owner == group.rank]
        number = {id(p): i for i, p in enumerate(params)}
        self._groups = [[number[id(p)] for p in g["params"]] for g in optimizer.param_groups]
        self._names = [_names_of(g) for g in optimizer.param_groups]
        owned_numbers = set(self.owned)
        for g, numbers in zip(optimizer.param_groups, self._groups, strict=True):
            names: list[str] | None = g.get("param_names")
            if names is not None:
                names[:] = [name for name, i in zip(names, numbers, strict=True) if i in owned_numbers]
            # In place: recorded steps and the group refer to this list.
            g["params"][:] = [params[i] for i in numbers if i in owned_numbers]
        # ZeRO-1 (Rajbhandari et al., 2020): this is the memory that it saves.
        for p in [p for p in optimizer.state if number[id(p)] not in owned_numbers]:
            del optimizer.state[p]

    def spread(self, numbers: Sequence[int]) -> None:
        """Give all workers the new values of these parameters, each from its owner."""
        by_owner = [[i for i in numbers if self.owners[i] == r] for r in range(self.group.size)]
        own_numbers = by_owner[self.group.rank]
        raw = [
            np.frombuffer(part, np.uint8) for part in Readback([self.params[i] for i in own_numbers]).wait()
        ]
        longest = max(sum(self.params[i].nbytes for i in part) for part in by_owner)
        message = np.zeros(longest, np.uint8)
        if raw:
            joined = np.concatenate(raw)
            message[: joined.size] = joined
        for rank, data in enumerate(gather(self.group, message)):
            start = 0
            for i in by_owner[rank] if rank != self.group.rank else ():
                p = self.params[i]
                value = leaf(data[start : start + p.nbytes], p.shape, p.dtype, p.device)
                p.assign_(Tensor(value))
                start += p.nbytes

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all parameters, as one worker alone has it. All workers call this."""
        own_state: dict[str, Any] = self.optimizer.state_dict()
        local = [i for numbers in self._groups for i in numbers if i in set(self.owned)]
        states: dict[int, Any] = own_state["state"]
        state = {str(local[n]): s for n, s in states.items()}
        all_states: dict[int, Any] = {}
        for data in gather_bytes(self.group, encode(state)):
            part: dict[str, Any] = decode(bytearray(data), "state_dict()")
            for i in part:
                all_states[int(i)] = part[i]
        groups = [{**g, "params": self._numbers_of(k)} for k, g in enumerate(own_state["param_groups"])]
        return {"state": dict(sorted(all_states.items())), "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load this worker's part of the state of all parameters."""
        own_state = self.optimizer.state_dict()
        owned_numbers = set(self.owned)
        state: dict[int, Any] = {}
        groups: list[dict[str, Any]] = []
        for k, (g, own_group) in enumerate(
            zip(state_dict["param_groups"], own_state["param_groups"], strict=True)
        ):
            saved = [n for n, i in zip(g["params"], self._groups[k], strict=True) if i in owned_numbers]
            state |= {
                new: state_dict["state"][old]
                for new, old in zip(own_group["params"], saved, strict=True)
                if old in state_dict["state"]
            }
            groups.append({**g, "params": own_group["params"]})
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})

    def release(self) -> None:
        """Give the optimiser all parameters and their state again. All workers call this."""
        full_state = self.state_dict()
        rows = zip(self.optimizer.param_groups, self._groups, self._names, strict=True)
        for g, numbers, names in rows:
            g["params"][:] = [self.params[i] for i in numbers]
            if names:
                g["param_names"][:] = names
        self.optimizer.load_state_dict(full_state)

    def _numbers_of(self, k: int) -> list[int]:
        """The numbers that PyTorch's layout gives to the parameters of group k."""
        first = sum(len(numbers) for numbers in self._groups[:k])
        return list(range(first, first + len(self._groups[k])))


def _names_of(group: Any) -> list[str]:
    names: list[str] | None = group.get("param_names")
    return [] if names is None else list(names)
