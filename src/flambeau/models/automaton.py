"""A grammar as an automaton of bytes, whose states are found as they are needed."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .expressions import Alt, Bytes, Expression, Ranges, Repeat, RuleCall, Seq

DEAD, START, UNKNOWN = 0, 1, -1
MOST_INSTRUCTIONS = 200_000
MOST_STATES = 50_000
MOST_PLACES = 2_000  # places in the rules that one state stands for
ROOT = "root"


class Instruction(NamedTuple):
    """Reads a byte of ranges, goes on at all targets, calls a rule that begins at `rule`, or returns.

    targets: where it goes on; of a call, where the rule returns to.
    """

    kind: str
    targets: tuple[int, ...]
    ranges: Ranges = ()
    rule: str = ""


class ByteProgram:
    """The instructions of rules. ValueError for rules that no text satisfies, that call themselves without a
    byte before, or that are too large.

    rules: by name; `root` is where a text begins.
    """

    def __init__(self, rules: Mapping[str, Expression]):
        self.code: list[Instruction] = []
        self.begins: dict[str, int] = {}
        self.pending: list[tuple[str, Expression]] = []
        self.helpers: dict[Expression, str] = {}
        for name, rule in rules.items():
            self._rule(name, rule)
        while self.pending:
            self._rule(*self.pending.pop())
        self.lives = self._living()
        if not self.lives[self.begins[ROOT]]:
            raise ValueError("no text satisfies it")
        self._check_recursion()

    def _rule(self, name: str, rule: Expression) -> None:
        self.begins[name] = self._add(rule, self._put(Instruction("return", ())))

    def _put(self, instruction: Instruction) -> int:
        if len(self.code) >= MOST_INSTRUCTIONS:
            raise ValueError(f"is too large: it has more than {MOST_INSTRUCTIONS:,} parts: lower its bounds")
        self.code.append(instruction)
        return len(self.code) - 1

    def _add(self, e: Expression, following: int) -> int:
        """Append an expression, after which the text goes on at an instruction. Return its own place."""
        if isinstance(e, Bytes):
            return self._put(Instruction("read", (following,), ranges=e.ranges))
        if isinstance(e, RuleCall):
            return self._put(Instruction("call", (following,), rule=e.rule))
        if isinstance(e, Seq):
            for part in reversed(e.parts):
                following = self._add(part, following)
            return following
        if isinstance(e, Alt):
            return self._put(Instruction("split", tuple(self._add(part, following) for part in e.parts)))
        return self._repeat(e, following)

    def _repeat(self, e: Repeat, following: int) -> int:
        # copies of a part are calls of one rule
        part = e.part
        copies = e.least if e.most is None else e.most
        if copies > 1 and not isinstance(part, Bytes | RuleCall):
            part = RuleCall(self._helper(part))
        if e.most is None:
            loop = self._put(Instruction("split", ()))
            self.code[loop] = Instruction("split", (self._add(part, loop), following))
            place = loop
        else:
            place = following
            for _ in range(e.most - e.least):
                place = self._put(Instruction("split", (self._add(part, place), following)))
        for _ in range(e.least):
            place = self._add(part, place)
        return place

    def _helper(self, part: Expression) -> str:
        if part not in self.helpers:
            self.helpers[part] = f"repeated {len(self.helpers)}"
            self.pending.append((self.helpers[part], part))
        return self.helpers[part]

    def _living(self) -> list[bool]:
        """Return from which instructions a rule's end can be reached."""
        readers: list[list[int]] = [[] for _ in self.code]  # the instructions before each one
        callers: dict[str, list[int]] = {}
        for i, instruction in enumerate(self.code):
            for target in instruction.targets:
                readers[target].append(i)
            if instruction.kind == "call":
                callers.setdefault(instruction.rule, []).append(i)
        rules_at: dict[int, list[str]] = {}
        for name, place in self.begins.items():
            rules_at.setdefault(place, []).append(name)
        lives, todo = (
            [False] * len(self.code),
            [i for i, instruction in enumerate(self.code) if instruction.kind == "return"],
        )
        while todo:
            i = todo.pop()
            instruction = self.code[i]
            if lives[i] or not self._can_pass(instruction, lives):
                continue
            lives[i] = True
            todo += readers[i]
            todo += [c for name in rules_at.get(i, ()) for c in callers.get(name, ())]
        return lives

    def _can_pass(self, instruction: Instruction, lives: list[bool]) -> bool:
        if instruction.kind == "return":
            return True
        if instruction.kind == "call" and not lives[self.begins[instruction.rule]]:
            return False
        return any(lives[t] for t in instruction.targets) and (
            instruction.kind != "read" or bool(instruction.ranges)
        )

    def _check_recursion(self) -> None:
        """ValueError for rules that call themselves before they read a byte."""
        nullable: set[str] = set()
        while True:
            heads = {name: self._heads(place, nullable) for name, place in self.begins.items()}
            new = {name for name, (_, ends) in heads.items() if ends}
            if new == nullable:
                break
            nullable = new
        # remove rules that call no remaining rule until none is left; a cycle stays
        left = {name: set(calls) for name, (calls, _) in heads.items()}
        while free := {name for name, calls in left.items() if not calls & left.keys()}:
            left = {name: calls for name, calls in left.items() if name not in free}
        if left:
            raise ValueError("a rule refers to itself with nothing before it: no text can be told from it")

    def _heads(self, place: int, nullable: set[str]) -> tuple[set[str], bool]:
        """Return the rules that may be called before a byte is read, and whether the end may be reached."""
        seen, todo, calls, ends = set[int](), [place], set[str](), False
        while todo:
            i = todo.pop()
            if i in seen or not self.lives[i]:
                continue
            seen.add(i)
            instruction = self.code[i]
            ends = ends or instruction.kind == "return"
            if instruction.kind == "call":
                calls.add(instruction.rule)
            if instruction.kind == "split" or (instruction.kind == "call" and instruction.rule in nullable):
                todo += instruction.targets
        return calls, ends


class Automaton:
    """The states of a program. State 0 has no continuation; a text begins in state 1.

    table: the state after each byte, UNKNOWN where it was not asked for yet. [states, 256]
    """

    def __init__(self, program: ByteProgram):
        self.program = program
        self.frames: list[tuple[int, int]] = [(-1, -1)]  # return place and the frame below; 0 is the bottom
        self.frame_ids: dict[tuple[int, int], int] = {}
        self.places: list[tuple[tuple[int, int], ...]] = []  # (instruction, frame) of each state
        self.accepts: list[bool] = []
        self.ids: dict[tuple[tuple[tuple[int, int], ...], bool], int] = {}
        self.table = np.full((64, 256), UNKNOWN, np.int32)
        self._state([])
        self.table[DEAD] = DEAD
        self._state([(program.begins[ROOT], 0)])

    def __len__(self) -> int:
        return len(self.places)

    def step(self, state: int, byte: int) -> int:
        """Return the state after a byte."""
        next_state = int(self.table[state, byte])
        return next_state if next_state != UNKNOWN else self._fill(state, byte)

    def steps(self, states: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the state after a byte, for several states and bytes."""
        next_states = self.table[states, values]
        missing = np.flatnonzero(next_states == UNKNOWN)
        if len(missing):
            pairs = np.unique(states[missing].astype(np.int64) * 256 + values[missing])
            for pair in pairs.tolist():
                self.step(pair // 256, pair % 256)
            next_states = self.table[states, values]
        return next_states

    def _fill(self, state: int, byte: int) -> int:
        """Find the states after a byte, and after all bytes that continue at the same places."""
        code = self.program.code
        low, high, after = 0, 255, list[tuple[int, int]]()
        for i, frame in self.places[state]:
            for first, last in code[i].ranges:
                if first <= byte <= last:
                    after.append((code[i].targets[0], frame))
                    low, high = max(low, first), min(high, last)
                elif last < byte:
                    low = max(low, last + 1)
                else:
                    high = min(high, first - 1)
        following = self._state(after)
        self.table[state, low : high + 1] = following
        return following

    def _state(self, begins: list[tuple[int, int]]) -> int:
        """Return the state of places, after all that needs no byte."""
        code, lives = self.program.code, self.program.lives
        seen, todo, accepts = set[tuple[int, int]](), begins, False
        reads: list[tuple[int, int]] = []
        while todo:
            place = todo.pop()
            i, frame = place
            if place in seen or not lives[i]:
                continue
            seen.add(place)
            instruction = code[i]
            if instruction.kind == "read":
                reads.append(place)
            elif instruction.kind == "split":
                todo += [(target, frame) for target in instruction.targets]
            elif instruction.kind == "call":
                if lives[instruction.targets[0]]:
                    todo.append(
                        (self.program.begins[instruction.rule], self._frame(instruction.targets[0], frame))
                    )
            elif frame == 0:
                accepts = True
            else:
                todo.append(self.frames[frame])
        if len(reads) > MOST_PLACES:
            raise ValueError(f"is too ambiguous: a text may be at {len(reads):,} of its places at once")
        key = (tuple(sorted(reads)), accepts)
        if key not in self.ids:
            self._new(key)
        return self.ids[key]

    def _frame(self, place: int, below: int) -> int:
        """Return the frame that returns to a place; the one below for a place that only returns."""
        if self.program.code[place].kind == "return" and below != 0:
            return below
        key = (place, below)
        if key not in self.frame_ids:
            self.frame_ids[key] = len(self.frames)
            self.frames.append(key)
        return self.frame_ids[key]

    def _new(self, key: tuple[tuple[tuple[int, int], ...], bool]) -> None:
        if len(self) >= MOST_STATES:
            raise ValueError(f"needs more than {MOST_STATES:,} states: lower its bounds")
        if len(self) == len(self.table):
            self.table = np.concatenate([self.table, np.full_like(self.table, UNKNOWN)])
        self.ids[key] = len(self.places)
        self.places.append(key[0])
        self.accepts.append(key[1])
