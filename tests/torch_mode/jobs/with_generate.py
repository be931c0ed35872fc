"""transformers' generate: greedy, beams, sampling, penalties, stopping, caches, an encoder with a decoder."""

import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    LogitsProcessor,
    LogitsProcessorList,
    MaxTimeCriteria,
    StoppingCriteriaList,
    StaticCache,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)
from transformers.utils import logging

logging.set_verbosity_error()
set_seed(0)
gpt = GPT2LMHeadModel(GPT2Config(vocab_size=40, n_positions=48, n_embd=32, n_layer=2, n_head=2, bos_token_id=1,
                                 eos_token_id=2, pad_token_id=0, initializer_range=0.5)).eval()  # fmt: skip
prompt = torch.tensor([[1, 7, 9, 4], [1, 3, 3, 8]])
mask = torch.ones_like(prompt)
common = dict(attention_mask=mask, max_new_tokens=8, pad_token_id=0)
print("greedy", gpt.generate(prompt, do_sample=False, **common).tolist())
print("beams", gpt.generate(prompt, num_beams=3, do_sample=False, length_penalty=0.8, **common).tolist())
out = gpt.generate(prompt, num_beams=4, num_return_sequences=2, output_scores=True, return_dict_in_generate=True, **common)
print("scores", out.sequences.shape, [round(s, 3) for s in out.sequences_scores.tolist()])
set_seed(1)
print("sampled", gpt.generate(prompt, do_sample=True, top_k=10, temperature=0.7, **common).tolist())
print("nucleus", gpt.generate(prompt, do_sample=True, top_p=0.9, typical_p=0.95, min_p=0.01, **common).tolist())
print("penalised", gpt.generate(prompt, repetition_penalty=1.5, no_repeat_ngram_size=2, do_sample=False, **common).tolist())
print("beam sample", gpt.generate(prompt, num_beams=2, do_sample=True, **common).shape)
print("padded", gpt.generate(torch.tensor([[0, 0, 1, 5], [1, 6, 7, 8]]), attention_mask=torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]]),
                             max_new_tokens=5, do_sample=False, pad_token_id=0).tolist())  # fmt: skip
print("uncached", gpt.generate(prompt, use_cache=False, do_sample=False, **common).tolist())


class Only(LogitsProcessor):
    def __call__(self, input_ids, scores):
        allowed = torch.zeros_like(scores, dtype=torch.bool)
        allowed[:, 10:20] = True
        return scores.masked_fill(~allowed, float("-inf"))


out = gpt.generate(prompt, logits_processor=LogitsProcessorList([Only()]), stopping_criteria=StoppingCriteriaList([MaxTimeCriteria(600)]),
                   do_sample=False, bad_words_ids=[[12]], **common)  # fmt: skip
print("processed", out.tolist())
llama = LlamaForCausalLM(LlamaConfig(vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                                     num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.5, pad_token_id=0)).eval()  # fmt: skip
print("llama", llama.generate(prompt, do_sample=False, **common).tolist())
print("static", llama.generate(prompt, do_sample=False, cache_implementation="static", disable_compile=True, **common).tolist())
past = llama(prompt, use_cache=True)
step = llama(past.logits[:, -1:].argmax(-1), past_key_values=past.past_key_values)
print("by hand", step.logits.shape, f"{step.logits.std().item():.3f}", past.past_key_values.get_seq_length())
t5 = T5ForConditionalGeneration(T5Config(vocab_size=40, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0,
                                         initializer_factor=3.0)).eval()  # fmt: skip
print("t5", t5.generate(prompt, max_new_tokens=6, do_sample=False).tolist())
print("t5 beams", t5.generate(prompt, max_new_tokens=6, num_beams=3).tolist())
bart = BartForConditionalGeneration(BartConfig(vocab_size=40, d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
    decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=48, init_std=0.5, pad_token_id=0,
    bos_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2)).eval()  # fmt: skip
print("bart", bart.generate(prompt, max_new_tokens=6, num_beams=2, early_stopping=True).tolist())
