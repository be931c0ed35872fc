"""diffusers: a tiny UNet trained to predict noise, EMA, and sampling by several schedulers and a pipeline."""

import os
import shutil
import tempfile

import torch
import torch.nn.functional as F
from diffusers import (
    AutoencoderKL,
    DDIMPipeline,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    UNet2DConditionModel,
    UNet2DModel,
)
from diffusers.optimization import get_cosine_schedule_with_warmup
from diffusers.training_utils import EMAModel
from diffusers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()
torch.manual_seed(0)
folder = tempfile.mkdtemp()
model = UNet2DModel(
    sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8,
)  # fmt: skip
scheduler = DDPMScheduler(num_train_timesteps=50)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
schedule = get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=1, num_training_steps=4)
ema = EMAModel(model.parameters(), decay=0.9)
images = torch.rand(4, 1, 8, 8) * 2 - 1
for step in range(3):
    noise = torch.randn(images.shape)
    timesteps = torch.randint(0, scheduler.config.num_train_timesteps, (4,), dtype=torch.int64)
    loss = F.mse_loss(model(scheduler.add_noise(images, noise, timesteps), timesteps, return_dict=False)[0], noise)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    ema.step(model.parameters())
    print("step", step, f"{loss.item():.4f}", f"{schedule.get_last_lr()[0]:.6f}")
ema.store(model.parameters())
ema.copy_to(model.parameters())
model.eval()
pipeline = DDPMPipeline(unet=model, scheduler=scheduler)
pipeline.set_progress_bar_config(disable=True)
generated = pipeline(batch_size=2, generator=torch.Generator(device="cpu").manual_seed(7), num_inference_steps=5, output_type="np").images
print("ddpm", generated.shape, f"{generated.mean():.4f} {generated.std():.4f}")
ema.restore(model.parameters())
pipeline.save_pretrained(folder)
print("files", sorted(os.listdir(os.path.join(folder, "unet"))))
pipeline = DDIMPipeline.from_pretrained(folder)
pipeline.set_progress_bar_config(disable=True)
generated = pipeline(batch_size=1, generator=torch.Generator().manual_seed(7), num_inference_steps=4, output_type="pil").images
print("ddim", type(generated[0]).__name__, generated[0].size)
for cls in (DDIMScheduler, EulerDiscreteScheduler, DPMSolverMultistepScheduler, FlowMatchEulerDiscreteScheduler):
    sampler = cls(num_train_timesteps=50)
    sampler.set_timesteps(4)
    sample = torch.randn(1, 1, 8, 8, generator=torch.Generator().manual_seed(3)) * getattr(sampler, "init_noise_sigma", 1.0)
    with torch.no_grad():
        for t in sampler.timesteps:
            scaled = sampler.scale_model_input(sample, t) if hasattr(sampler, "scale_model_input") else sample
            sample = sampler.step(model(scaled, t).sample, t, sample).prev_sample
    print(cls.__name__, f"{sample.mean().item():.3f} {sample.std().item():.3f}", [round(float(t), 1) for t in sampler.timesteps])
unet = UNet2DConditionModel(
    sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4, cross_attention_dim=12,
    attention_head_dim=4, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
)  # fmt: skip
out = unet(torch.randn(2, 4, 8, 8), torch.tensor([3, 9]), encoder_hidden_states=torch.randn(2, 5, 12)).sample
out.pow(2).mean().backward()
print("conditional", out.shape, f"{out.std().item():.4f}", f"{unet.conv_in.weight.grad.norm().item():.5f}")
vae = AutoencoderKL(block_out_channels=(8, 16), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                    norm_num_groups=4, latent_channels=4, sample_size=16)  # fmt: skip
posterior = vae.encode(torch.randn(1, 3, 16, 16)).latent_dist
latents = posterior.sample(generator=torch.Generator().manual_seed(1)) * vae.config.scaling_factor
print("vae", latents.shape, f"{vae.decode(latents).sample.std().item():.4f}", f"{posterior.kl().item():.3f}")
vae.enable_slicing()
shutil.rmtree(folder)
