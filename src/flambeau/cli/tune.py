"""`flambeau tune`: measures kernel variants for a model or for calls, and keeps the fastest."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from ..core import events
from ..core.printing import count_text
from ..core.tree import is_dict, is_sequence
from ..device import get_device
from ..device.tuned import Choice, better, choices_file, import_choices, keep, load_cached, text_of
from ..device.tuned import choices_file_name as file_name
from ..errors import FlambeauError
from ..export.inputs import spec_of
from ..functions import realize
from ..tensor import Tensor
from ..tune import autotune
from .child_process import run_in_child
from .load_model import model_of, named_inputs
from .op_calls import Call, common_calls, parse_call, random_tensor


@click.command(short_help="Measure which kernels are fastest here; save the choices.")
@click.argument("model", required=False)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=DTYPE[SIZES]",
    help="A model input, in order; N is the batch size.",
)
@click.option("--batch", default=8, show_default=True, help="The N of --input.")
@click.option("--train", is_flag=True, help="Tune the gradients too.")
@click.option("--op", "ops", multiple=True, metavar="CALL", help="'matmul(f32[64, 784], f32[784, 128])'.")
@click.option(
    "--usual", "common", is_flag=True, help="Tune common calls and models; the default without a model."
)
@click.option("--seconds", type=float, help="Start no measurement after this many seconds.")
@click.option("--again", is_flag=True, help="Measure again even if a choice is stored.")
@click.option("--device", help="The adapter, as in FLAMBEAU_DEVICE.")
@click.option("--here", is_flag=True, help="Measure in this process, which a crashing candidate would end.")
@click.option(
    "--export", "to", type=click.Path(path_type=Path), help="Write all choices to FILE, or into a folder."
)
@click.option("--better", "best", is_flag=True, help="Export only choices that beat the rule by 5%.")
@click.option(
    "--import", "source", type=click.Path(path_type=Path), help="Import the choices of such a FILE."
)
def tune(**values: Any):
    """Measure which kernels are fastest for MODEL on this adapter, and save the choices for later runs.

    MODEL is what `flambeau export` takes; without one, common calls and models are measured. Every variant
    that fits is run, compared and timed; the choices are saved in the cache folder by adapter, driver and
    version. FLAMBEAU_TUNE=off ignores them.

    \b
    Example: flambeau tune mnist.safetensors --batch 64 --train
    Example: flambeau tune --op "matmul(f32[64, 784], f32[784, 128])" --export choices.json
    """
    options = TuneOptions(**values)
    if (options.ops or options.model or options.common) and not options.here:
        # A candidate may crash the driver: measure in a child process.
        return run_in_child(_arguments())
    carry_out(options)


@dataclass
class TuneOptions:
    """The options of the command, by name."""

    model: str | None
    inputs: tuple[str, ...]
    batch: int
    train: bool
    ops: tuple[str, ...]
    common: bool
    seconds: float | None
    again: bool
    device: str | None
    here: bool
    to: Path | None
    best: bool
    source: Path | None

    def __post_init__(self) -> None:
        self.common = self.common or not (self.ops or self.model or self.source or self.to)


def carry_out(options: TuneOptions) -> None:
    """Carry out the command's imports, measurements and exports in this process."""
    place = get_device(options.device)
    identity = place.identity
    # Choices are stored by adapter, driver and version.
    if identity is None:
        raise FlambeauError(f"tune: {place} has no kernel variants: see 'flambeau doctor'")
    if options.source is not None:
        # Before the measurements, so that imported choices are not measured again.
        keep(identity, imported := import_choices(options.source, identity))
        click.echo(
            f"kept {count_text(len(imported), 'choice')} of {options.source} in {choices_file(identity)}"
        )
    calls = [(text, parse_call(text, place)) for text in options.ops]
    if options.model:
        calls.append((options.model, model_call(options.model, options.inputs, options.batch, place)))
    if calls:
        tune_calls(calls, options, options.train)
    if options.common:
        tune_calls(common_calls(place), options, train=True, skip=True)
    if options.to is not None:
        export_choices(options.to, identity, options.best)


class OutOfTime(Exception):
    """Raised when the time is up, so that no further choice is measured."""


class ChoicePrinter:
    """Prints each choice of a call when it is measured, and the call's name before the first. Raises
    OutOfTime when the time is up."""

    def __init__(self, seconds: float | None):
        self.begin, self.seconds = perf_counter(), seconds
        self.name, self.is_named = "", False

    def call(self, name: str) -> None:
        """Begin a call."""
        self.name, self.is_named = name, False

    def __call__(self, done: int, of: int, choice: Choice | None) -> None:
        if not self.is_named:
            click.echo(f"{self.name}:")
            self.is_named = True
        click.echo(f"  {done} of {of}: {choice or 'no alternatives here'}")
        if self.seconds is not None and perf_counter() - self.begin > self.seconds:
            raise OutOfTime


def tune_calls(
    calls: Iterable[tuple[str, Call]], options: TuneOptions, train: bool, skip: bool = False
) -> None:
    """Tune calls and print their choices; skip: continue after a call that this adapter can't run."""
    progress = ChoicePrinter(options.seconds)
    # The printer runs after each choice, so OutOfTime never loses a measured one.
    with autotune.autotune(again=options.again) as tuned, events.subscribe("tuned", progress):
        try:
            for name, call in calls:
                progress.call(name)
                measure_or_skip(name, call, train, skip)
        except OutOfTime:
            click.echo(f"out of time (--seconds) at {progress.name}")
    new = sum(c.choice != c.default for c in tuned.choices)
    took = perf_counter() - progress.begin
    count = count_text(len(tuned.choices), "choice")
    click.echo(f"{count} measured in {took:.1f} s, {new} of which differ from the rule")


def measure_or_skip(name: str, call: Call, train: bool, skip: bool) -> None:
    """Measure a call; with `skip`, print why a call can't run, and continue."""
    try:
        measure(call, train)
    except FlambeauError as e:
        if not skip:
            raise
        click.echo(f"{name}: left out: {str(e).splitlines()[0]}")


def export_choices(to: Path, identity: Any, best: bool) -> None:
    """Write the choices of the cache folder to a file, or to a folder under the file name that ships."""
    # --better drops choices within noise of the rule, for files that ship with the package
    choices = better(load_cached(identity)) if best else load_cached(identity)
    to = to / file_name(identity) if to.is_dir() else to
    try:
        to.write_text(text_of(identity, choices), encoding="utf-8")
    except OSError as e:
        raise FlambeauError(f"tune --export {to}: can't be written ({e.strerror}): check the path") from None
    click.echo(f"wrote {count_text(len(choices), 'choice')} to {to}")


def _arguments() -> list[str]:
    """This command's arguments again, as text."""
    context = click.get_current_context()
    words: list[str] = []
    # rebuilt from the parsed values, since the child needs them after --here
    for p in context.command.params:
        value = context.params.get(p.name or "")
        flag = [p.opts[0]] if isinstance(p, click.Option) else []
        if isinstance(p, click.Option) and p.is_flag:
            words += flag if value else []
        else:
            for item in value if is_sequence(value) else () if value is None else (value,):
                words += [*flag, str(item)]
    return words


def measure(call: Call, train: bool) -> None:
    """Run a call once, and with `train` its gradients with random gradients of its results."""

    def results() -> list[Tensor]:
        y = call()
        return [y] if isinstance(y, Tensor) else list(y.values() if is_dict(y) else y)

    # The forward kernels are tuned here; `backward` below computes the values again within its graph.
    values = results()
    realize(*values)
    if train:
        # gradients stored in memory, as in a model: kernels would treat a constant 1 as a number, not a
        # buffer
        slopes = [random_tensor(y.dtype, y.shape, y.device) for y in values]
        loss, *rest = ((y * slope).sum() for y, slope in zip(results(), slopes, strict=True))
        for more in rest:
            loss = loss + more
        realize(*loss.backward())


def model_call(name: str, inputs: tuple[str, ...], batch: int, place: Any) -> Call:
    """Return a call of a model with random inputs of a batch size."""
    model: Any = model_of(name, None, "tune")
    specs = [spec_of(*named) for named in named_inputs(name, inputs, "tune")]
    if hasattr(model, "to"):
        model = model.to(place)
    return lambda: model(*(random_tensor(s.dtype, s.at(batch), place) for s in specs))
