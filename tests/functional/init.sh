#!/bin/bash
# init.sh - ludwig init writes a sweep file from what a script takes
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

argparse() {
    mkdir argparse && cd argparse
    cat >train.py <<'END'
import argparse, os
print("must not run")
os.mkdir("was-run") if "LUDWIG_SAVE_PATH" not in os.environ else None
p = argparse.ArgumentParser()
p.add_argument("data", help="where the data lie")
p.add_argument("--lr", "-l", type=float, default=0.1, help="learning rate: %(default)s")
p.add_argument("--batch-size", type=int, default=32)
p.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
p.add_argument("--name", default="it's #1, yes")
p.add_argument("--verbose", action="store_true")
p.add_argument("--layers", type=int, nargs="+", default=[64])
p.add_argument("--resume")
p.add_argument("--seed", type=int, default=0)
a = p.parse_args()
open(os.path.join(os.environ["LUDWIG_SAVE_PATH"], "seen"), "w").write(repr(a))
END
    ludwig init 2>err
    grep -q '^sweep.yaml written for train.py; now: ludwig submit sweep.yaml --dry-run$' err
    [ ! -e was-run ]
    grep -qx '# not in the command: --verbose  (a flag)' sweep.yaml
    grep -qx '# not in the command: --layers  (takes several words)' sweep.yaml
    grep -qx '# not in the command: --resume  (without a default)' sweep.yaml
    grep -qE '^  lr: 0\.1 +# learning rate: ' sweep.yaml
    sed -i 's/CHANGE-ME/words.txt/' sweep.yaml
    ludwig submit sweep.yaml --dry-run >out
    grep -qx "command   python3 train.py words.txt --lr 0.1 --batch-size 32 --optimizer adam --name 'it'\\\\''s #1, yes' --seed \$LUDWIG_SEED" out
    ludwig_wait submit sweep.yaml --wait --json >s
    json s 'd["jobs"] == 2'
    cat "$SHARE"/argparse/runs/param_001/*/seen | grep -q "data='words.txt', lr=0.1, batch_size=32, optimizer='adam', name=\"it's #1, yes\", verbose=False, layers=\[64\], resume=None, seed=[0-9]"
    # What is there stays.
    cp sweep.yaml before
    not ludwig init train.py 2>err
    grep -q '^ludwig: sweep.yaml is there already; -o FILE writes another one$' err
    cmp before sweep.yaml
    ludwig init train.py -o other.yaml
    ludwig submit other.yaml --dry-run >/dev/null
}
it 'options of argparse become parameters, and the script is not run' argparse

click() {
    mkdir click && cd click
    cat >tune.py <<'END'
import click
@click.command()
@click.option("--depth", default=3, help="how deep")
@click.option("--mode", type=click.Choice(["a", "b"]), default="a")
@click.option("--fast/--slow", default=False)
def main(depth, mode, fast): pass
END
    ludwig init
    ludwig submit sweep.yaml --dry-run >out
    grep -qx 'command   python3 tune.py --depth 3 --mode a' out
    grep -qx '  mode: \[a, b\]' sweep.yaml
}
it 'and those of click' click

hydra() {
    mkdir -p hydra/conf && cd hydra
    printf 'import hydra\n@hydra.main(version_base=None, config_path="conf", config_name="config")\ndef f(cfg): pass\n' >main.py
    printf 'defaults: [_self_]\nlr: 1e-3\nmodel: {depth: 3, name: lm}\npath: ${oc.env:X}\n' >conf/config.yaml
    ludwig init
    ludwig submit sweep.yaml --dry-run >out
    grep -qx 'command   python3 main.py lr=0.001 model.depth=3 model.name=lm' out
}
it 'and the configuration of Hydra' hydra

others() {
    mkdir others && cd others
    ludwig init 2>err
    ludwig submit sweep.yaml --dry-run | grep -qx 'command   echo lr=0.1'
    rm sweep.yaml
    echo 'exit 0' >run.sh
    ludwig init run.sh
    ludwig submit sweep.yaml --dry-run | grep -qx 'command   sh run.sh'
    rm sweep.yaml
    printf 'def f(:\n' >bad.py
    not ludwig init bad.py 2>err
    grep -q '^ludwig: python3 cannot read bad.py: SyntaxError' err
    not ludwig init nothere.py 2>err
    grep -q 'nothere.py' err
    [ ! -e sweep.yaml ]
}
it 'without a script it writes an example, and what it cannot read it says' others

done_testing
