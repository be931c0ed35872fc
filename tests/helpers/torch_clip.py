"""CLIP's network for images as torch's own layers make it, under OpenAI's names."""

from types import SimpleNamespace
from typing import Any


def torch_clip(torch: Any, config: Any) -> Any:
    """(module, features(x), embedding(x)) by the sizes of a ClipVisionConfig."""
    nn, width = torch.nn, config.width
    places = (config.image_size // config.patch_size) ** 2 + 1
    blocks = nn.ModuleList()
    for _ in range(config.layers):
        mlp = nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)})
        attn = nn.MultiheadAttention(width, config.num_heads)
        parts = {"ln_1": nn.LayerNorm(width), "attn": attn, "ln_2": nn.LayerNorm(width), "mlp": mlp}
        blocks.append(nn.ModuleDict(parts))
    net = nn.Module()
    net.conv1 = nn.Conv2d(3, width, config.patch_size, config.patch_size, bias=False)
    net.class_embedding = nn.Parameter(torch.randn(width))
    net.positional_embedding = nn.Parameter(torch.randn(places, width))
    net.ln_pre, net.ln_post = nn.LayerNorm(width), nn.LayerNorm(width)
    net.transformer = nn.ModuleDict({"resblocks": blocks})
    net.proj = nn.Parameter(torch.randn(width, config.output_dim))

    def layers(x: Any) -> list[Any]:
        patches = net.conv1(x).flatten(2).permute(2, 0, 1)  # [patches, n, width]
        first = net.class_embedding.reshape(1, 1, -1).repeat(1, x.shape[0], 1)
        y = torch.cat([first, patches])
        grown = torch.nn.functional.interpolate(
            net.positional_embedding[None, None], (len(y), width), mode="bicubic", align_corners=False
        )
        y, found = net.ln_pre(y + grown[0, 0, :, None]), []
        for block in blocks:
            z = block["ln_1"](y)
            y = y + block["attn"](z, z, z)[0]
            z = block["mlp"]["c_fc"](block["ln_2"](y))
            y = y + block["mlp"]["c_proj"](z * torch.sigmoid(1.702 * z))
            found.append(y.transpose(0, 1))
        return found

    return SimpleNamespace(
        net=net,
        features=lambda x: [y[:, 1:] for y in layers(x)],
        embedding=lambda x: net.ln_post(layers(x)[-1][:, 0]) @ net.proj,
    )
