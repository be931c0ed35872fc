"""`flambeau chat`: what it says before it loads, replies, commands, Ctrl-C, errors."""

import signal

import pytest
from click.testing import CliRunner
from helpers.gguf_models import tiny_chat

from flambeau.cli import main
from flambeau.models import Chat


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    tiny_chat(path)
    return path


def run(*args, **how):
    return CliRunner().invoke(main, ["chat", *map(str, args)], **how)


@pytest.mark.share(2)
def test_a_conversation(path):
    entered = "hello\n/reset\n/what\n\nhello\nhello\n/exit\nnever"
    done = run(path, "--device", "cpu", "--max-tokens", 4, input=entered)
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("tiny.gguf: llama, 0 million parameters, 0 MiB; on the CPU, with NumPy: ")
    lines = [line for line in done.stderr.splitlines() if line.startswith("[") and "tokens/s" in line]
    prompts = [line.split()[0] for line in lines]
    assert len(prompts) == 3 and prompts[0] == prompts[1] != prompts[2]
    assert "a new conversation" in done.stderr and done.stderr.count("/reset begins") == 2
    assert "never" not in done.output


@pytest.mark.share(2)
def test_one_prompt_and_options(path):
    args = ("--device", "cpu", "--max-tokens", 3, "--prompt", "hello", "--system", "be brief")
    best, cold = run(path, *args), run(path, *args, "--temperature", 0)
    assert best.exit_code == 0 and best.stdout == cold.stdout and "/reset" not in best.output
    drawn = [run(path, *args, "--temperature", 5, "--seed", 3).stdout for _ in range(2)]
    assert drawn[0] == drawn[1] != best.stdout


def test_an_interrupt_stops_the_reply(path, monkeypatch):
    stream = Chat.stream

    def interrupted(self, text, **options):
        for part in stream(self, text, **options):
            yield part
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Chat, "stream", interrupted)
    done = run(path, "--device", "cpu", input="hello\n/exit\n")
    assert done.exit_code == 0 and "; stopped]" in done.stderr


@pytest.mark.share(2)
def test_errors(path, tmp_path):
    done = run(tmp_path / "none.gguf")
    assert done.exit_code == 1 and "no such file: check the path" in done.stderr
    done = run(path, "--device", "cpu", "--context", 16, input="hello the world\nhello\n")
    assert done.exit_code == 0 and done.stderr.count("the context has 16") == 2
    assert run(path, "--top-p", 3, "--device", "cpu", "--prompt", "a").stderr.endswith(
        "generate(top_p=3.0): pass a probability above 0, 1 at most\n"
    )
