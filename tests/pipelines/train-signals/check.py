import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

TRAIN = ("train --vocab vocabulary.h5 --source a.en --target a.fr --valid-source a.en --valid-target a.fr --preset transformer-tiny"
         " --d-model 8 --n-heads 2 --d-ff 8 --n-encoder-layers 1 --n-decoder-layers 1 --batch-tokens 512 --no-valid-bleu").split()
SANITIZED = "-sanitize" in os.environ["TOOLS"]  # its library explains crashes itself
FOREVER = ["--max-updates", "1000000", "--checkpoint-every", "1"]


def default_signals():
    """A background job of a shell would ignore some."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def start(model, *words):
    return subprocess.Popen([*TRAIN, "-o", model, *words], stderr=subprocess.PIPE, text=True, preexec_fn=default_signals)


def begun(model, *words):
    """A training without end that has written a checkpoint."""
    file = pathlib.Path(model + ".checkpoint")
    inode = lambda: file.stat().st_ino if file.exists() else None
    before, process = inode(), start(model, *FOREVER, *words)
    for _ in range(6000):
        if inode() not in (before, None):
            return process
        time.sleep(0.01)
    raise SystemExit(f"{file} does not come")


def end(process, seconds=60):
    messages = process.communicate(timeout=seconds)[1]
    return process.returncode, messages


def trained(model, *words):
    status, messages = end(start(model, *words))
    assert status == 0, messages


def digest(model):
    listed = subprocess.run(["viz-dump", "--list", model], capture_output=True, text=True, check=True).stdout
    return re.search("# model_digest: (.*)", listed)[1]


def loads(checkpoint):
    return subprocess.run(["encode", "-m", checkpoint, "--trace-list"], capture_output=True).returncode == 0


def left_over():
    return [path.name for path in pathlib.Path().iterdir() if path.name.startswith(".heed-") or path.name.endswith((".new", ".lock"))]


failures = []


def check(what, *facts):
    failures.extend([] if all(facts) else [what])
    print(what if all(facts) else f"FAILED: {what}: {facts}", flush=True)


def gentle_signals():
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        process = begun("gentle.h5", "--resume")
        process.send_signal(number)
        status, messages = end(process)
        said = re.search(r"stopped after update (\d+), saved gentle\.h5\.checkpoint", messages)
        check(f"{number.name} saves and ends the run as that signal", status == -number, said, loads("gentle.h5.checkpoint"),
              not left_over())
    updates = str(int(said[1]) + 3)
    trained("gentle.h5", "--resume", "--max-updates", updates)
    trained("whole.h5", "--max-updates", updates)
    check("stopped three times and resumed, the model is that of a run without a stop", digest("gentle.h5") == digest("whole.h5"))


def two_interrupts():
    """The second one, which comes while the first is obeyed, ends the run at once; what it interrupts is a save too."""
    for delay in 0, 0.001, 0.003, 0.01:
        process = begun("twice.h5", "--resume")
        process.send_signal(signal.SIGINT)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        status, _ = end(process, seconds=30)
        check(f"a second SIGINT after {delay} s leaves a checkpoint that loads", status == -signal.SIGINT, loads("twice.h5.checkpoint"))
    trained("twice.h5", "--resume", "--max-updates", "1")
    check("and nothing that the next run does not clean", not left_over())


def stopped_and_continued():
    process = start("slow.h5", "--max-updates", "60", "--checkpoint-every", "1")
    trained("plain.h5", "--max-updates", "60")
    for _ in range(20):
        for number in signal.SIGSTOP, signal.SIGCONT, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH:
            if process.poll() is None:
                process.send_signal(number)
                time.sleep(0.002)
    status, messages = end(process)
    check("stopped and continued many times, the model is the same", status == 0, digest("slow.h5") == digest("plain.h5"), messages)


def readers():
    process = begun("read.h5")
    reads = [["viz-dump", "--list", "read.h5.checkpoint"], ["encode", "-m", "read.h5.checkpoint", "--trace-list"]]
    messages = []
    for _ in range(15):
        both = [subprocess.Popen(read, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for read in reads]
        messages += [reader.stderr for reader in both if end(reader)[0] != 0]
    check("30 reads of a checkpoint that is replaced at every update", not messages, process.poll() is None)
    second, messages = end(start("read.h5", "--resume", "--max-updates", "1"), seconds=20)
    check("a second trainer is refused and names the first", second == 1, f"process {process.pid}" in messages)
    process.kill()
    check("killed by SIGKILL", end(process)[0] == -signal.SIGKILL, loads("read.h5.checkpoint"))
    trained("read.h5", "--resume", "--max-updates", "1")
    check("the next run goes on without a hand and leaves nothing behind", not left_over())


def corpus_cut_short():
    subprocess.run("tokenize --pairs a.en a.fr --vocab vocabulary.h5 -o pairs.h5".split(), check=True)
    process = subprocess.Popen([*TRAIN[:3], "--corpus", "pairs.h5", *TRAIN[7:], "-o", "cut.h5", *FOREVER], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not pathlib.Path("cut.h5.checkpoint").exists():
        time.sleep(0.01)
    os.truncate("pairs.h5", 100)
    status, messages = end(process)
    check("a corpus that is cut short ends the run and is named", SANITIZED or (status == 1 and "train: pairs.h5: cannot be read any more" in messages),
          messages, not SANITIZED or status != 0)


def power_loss():
    """Whatever is renamed to a name that others read has been synced since it was last written, and so has the folder in the end;
    nothing is written under such a name. So at any moment each of them is a whole old file or a whole new one."""
    strace = shutil.which("strace")
    if not strace or subprocess.run([strace, "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("what is renamed was not looked at: strace is missing, or may not trace", file=sys.stderr)
        sys.exit(1 if failures else 77)
    calls = "trace=write,pwrite64,writev,pwritev,ftruncate,fsync,fdatasync,rename,renameat,renameat2,link,linkat"
    environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")  # of a traced process
    subprocess.run([strace, "-f", "-y", "-s", "0", "-o", "log", "-e", calls, *TRAIN, "-o", "power.h5", "--max-updates", "3",
                    "--checkpoint-every", "1", "-q"], check=True, env=environment)
    dirty, published, unsynced, wrong = set(), set(), set(), []
    for line in pathlib.Path("log").read_text(errors="replace").splitlines():
        call = re.match(r"\d+ +(\w+)\((?:\d+<(.*?)>|.*?\"(.*?)\", (?:.*?)\"(.*?)\").* = \d+", line)
        if not call:
            continue
        name, on, old, new = call.groups()
        if name in ("fsync", "fdatasync"):
            dirty.discard(os.path.basename(on))
            unsynced.discard(os.path.realpath(on))
        elif name.startswith(("rename", "link")):
            if os.path.basename(old) in dirty:
                wrong.append(line)
            published.add(os.path.basename(new))
            unsynced.add(os.path.dirname(os.path.realpath(new)))
        elif on.startswith("/") and "memfd" not in on and not on.startswith("/dev/"):
            dirty.add(os.path.basename(on))
            if os.path.basename(on) in published or not os.path.basename(on).startswith((".heed-", "power.h5.lock")):
                wrong.append(line)
    wanted = {"power.h5", "power.h5.checkpoint", "power.h5.checkpoint.previous", "power.h5.metrics.tsv", "epoch_0001.h5"}
    if wrong or unsynced or not wanted <= published:
        raise SystemExit(f"power loss: {wrong} {unsynced} {published}")
    print("what is renamed has been synced, and so has its folder")


gentle_signals()
two_interrupts()
stopped_and_continued()
readers()
corpus_cut_short()
power_loss()
