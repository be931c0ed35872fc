"""Environment steps a second of whole iterations of PPO on CartPole, beside CleanRL's ppo.py in the same run.

python bench/rl_beside_cleanrl.py PYTHON [--seconds 30] [--copies 1024] [--rounds 2]

PYTHON is an interpreter that has the package cleanrl, which needs one of its own before Python 3.11:
`python3.10 -m venv cleanrl && cleanrl/bin/pip install cleanrl==1.2.0 torch`, then `cleanrl/bin/python`. Its
ppo.py runs as it is (4 copies of Gymnasium's CartPole, PyTorch on the CPU) and prints its own steps a second;
both take turns. On a machine that does nothing else.
"""

import argparse
import re
import subprocess
import tempfile
import time
from statistics import median

from _measure import show_table

import flambeau as fb

SPS = re.compile(r"^SPS: (\d+)", re.MULTILINE)
FIND = "import importlib.util as u; print(u.find_spec('cleanrl').submodule_search_locations[0])"


def cleanrl(python: str, seconds: float) -> float:
    """The last of the rates that ppo.py prints, of all of its steps so far."""
    found = subprocess.run([python, "-c", FIND], capture_output=True, text=True, check=True)
    call = [
        python,
        "-u",
        f"{found.stdout.strip()}/ppo.py",
        "--cuda",
        "False",
        "--total-timesteps",
        "50000000",
    ]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as out:
        run = subprocess.Popen(call, cwd=folder, stdout=out, stderr=subprocess.STDOUT, text=True)
        try:
            run.wait(seconds)
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
        out.seek(0)
        text = out.read()
    if not (rates := SPS.findall(text)):
        raise SystemExit(f"ppo.py printed no rate in {seconds:.0f} s:\n{text[-1000:]}")
    return float(rates[-1])


def rate_of(training, steps: int, seconds: float) -> float:
    """Steps a second of the iterations of `seconds`."""
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        next(training)
        count += 1
    return count * steps / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="an interpreter that has the package cleanrl")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--copies", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    agent = fb.rl.PPO(fb.rl.CartPole(args.copies), record="parts")
    training, steps = agent.learn(1 << 40), args.copies * agent.steps
    for _ in range(3):  # records and compiles
        next(training)
    theirs, ours = [], []
    for _ in range(args.rounds):
        theirs.append(cleanrl(args.python, args.seconds))
        ours.append(rate_of(training, steps, args.seconds))
    rows = [
        ("cleanrl 1.2.0, ppo.py, 4 copies", f"{median(theirs):,.0f}", "1"),
        (f"flambeau, {args.copies:,} copies", f"{median(ours):,.0f}", f"{median(ours) / median(theirs):.1f}"),
    ]
    show_table("PPO on CartPole", ["work", "steps/s", "times"], rows)


if __name__ == "__main__":
    main()
