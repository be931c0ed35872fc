"""`flambeau tune`: turns a model, or calls of operations, into the fastest variants of their kernels."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..errors import FlambeauError, suggest
from ..tuned import keep, kept, place_of, taken, text_of
from ..tuning import autotune
from .apart import run_apart
from .given import DIGITS, model_of, named

CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
PART = re.compile(r"\w+\s*\[[^\]]*\]")


@click.command(short_help="Measure which kernels are fastest here; keep that.")
@click.argument("model", required=False)
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME=DTYPE[SIZES]",
    help="An argument of the model, in order; N is the batch.",
)  # fmt: skip
@click.option("--batch", default=8, show_default=True, help="The N of --input.")
@click.option("--train", is_flag=True, help="Tune the gradients of the results' sum too.")
@click.option("--op", "ops", multiple=True, metavar="CALL", help="'matmul(f32[64, 784], f32[784, 128])'.")
@click.option("--again", is_flag=True, help="Measure what was measured before too.")
@click.option("--device", help="The adapter, as in FLAMBEAU_DEVICE.")
@click.option("--here", is_flag=True, help="Measure in this process: a candidate that crashes ends it.")
@click.option(
    "--export", "to", type=click.Path(dir_okay=False, path_type=Path), help="Write all choices to FILE."
)
@click.option("--import", "source", type=click.Path(path_type=Path), help="Keep the choices of such a FILE.")
def tune(
    model: str | None, inputs: tuple[str, ...], batch: int, train: bool, ops: tuple[str, ...], again: bool,
    device: str | None, here: bool, to: Path | None, source: Path | None,
):  # fmt: skip
    """Measure which kernels are fastest for MODEL on this adapter, and keep that for later runs.

    MODEL is what `flambeau export` takes. Every variant that fits is run, compared and timed; what is found
    is kept in the cache folder by adapter, driver and version. FLAMBEAU_TUNE=off leaves it unused.

    \b
    Example: flambeau tune mnist.safetensors --batch 64 --train
    Example: flambeau tune --op "matmul(f32[64, 784], f32[784, 128])" --export choices.json
    """
    from ..device import get_device

    if (ops or model) and not here:
        return run_apart(_arguments())
    place = get_device(device)
    if place.kind != "gpu":
        raise FlambeauError(f"tune: {place} has no kernels to choose from: see 'flambeau doctor'")
    if source is not None:
        keep(place.identity, imported := taken(source, place.identity))
        click.echo(f"kept {len(imported)} choices of {source} in {place_of(place.identity)}")
    calls = [called(text, place) for text in ops] + ([modelled(model, inputs, batch, place)] if model else [])
    if not (calls or source or to):
        raise FlambeauError("tune: nothing to measure: name a model, or --op 'sum(f32[512, 512])'")
    with autotune(again=again) as found:
        for call in calls:
            measure(call, train)
    for made in found.choices:
        click.echo(str(made))
    if calls and not found.choices:
        click.echo("nothing new to measure: every choice is made already, or there is none")
    if to is not None:
        to.write_text(text_of(place.identity, every := kept(place.identity)), encoding="utf-8")
        click.echo(f"wrote {len(every)} choices to {to}")


def _arguments() -> list[str]:
    """This command's arguments again, as text."""
    context = click.get_current_context()
    found: list[str] = []
    for p in context.command.params:
        value = context.params.get(p.name or "")
        flag = [p.opts[0]] if isinstance(p, click.Option) else []
        if isinstance(p, click.Option) and p.is_flag:
            found += flag if value else []
        else:
            for one in value if isinstance(value, tuple) else () if value is None else (value,):
                found += [*flag, str(one)]
    return found


def measure(call: Callable[[], Any], train: bool) -> None:
    """Run a call once, and with `train` its gradients."""
    from ..functions import realize
    from ..tensor import Tensor

    def results() -> list[Tensor]:
        y = call()
        return [y] if isinstance(y, Tensor) else list(y.values()) if isinstance(y, dict) else list(y)

    realize(*results())
    if train:
        loss, *rest = (y.sum() for y in results())
        for more in rest:
            loss = loss + more
        realize(*loss.backward())


def called(text: str, place: Any) -> Callable[[], Any]:
    """A call such as "matmul(f32[64, 784], f32[784, 128])" on made-up numbers."""
    from .. import nn
    from ..op import COMPOSED, OPS
    from ..saved.specs import spec_of

    found = CALL.fullmatch(text)
    if found is None or PART.sub("", found[2]).strip(" ,"):
        raise FlambeauError(f"tune --op {text!r}: write it as 'matmul(f32[64, 784], f32[784, 128])'")
    name = found[1]
    op = getattr(nn.functional, name, None) or COMPOSED.get(name) or OPS.get(name)
    if op is None:
        known = [n for n in (*OPS, *COMPOSED) if not n.startswith("_")]
        raise FlambeauError(f"tune --op {text!r}: unknown operation{suggest(name, known)}")
    specs = [spec_of(f"x{i}", part) for i, part in enumerate(PART.findall(found[2]))]
    return lambda: op(*(made_up(s.dtype, s.at(1), place) for s in specs))


def modelled(name: str, inputs: tuple[str, ...], batch: int, place: Any) -> Callable[[], Any]:
    """A model, with made-up inputs of a batch size."""
    from ..saved.specs import spec_of

    made = model_of(name, None, "tune")
    given = inputs or ((DIGITS,) if name.endswith(".safetensors") else ())
    if not given:
        raise FlambeauError(f"tune {name}: no inputs: name each, as in --input '{DIGITS}'")
    specs = [spec_of(*named(text, "tune")) for text in given]
    if hasattr(made, "to"):
        made = made.to(place)
    return lambda: made(*(made_up(s.dtype, s.at(batch), place) for s in specs))


def made_up(dtype: Any, shape: tuple[int, ...], place: Any) -> Any:
    """Numbers to compute with."""
    from ..functions import ones, randn

    if dtype.is_float:
        return randn(*shape, device=place).to(dtype).requires_grad_()
    return ones(*shape, dtype=dtype, device=place)
