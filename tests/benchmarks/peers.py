"""What the benchmarks share that set heed beside programs of PyPI."""
import os
import subprocess
import sys


def processor():
    with open("/proc/cpuinfo") as file:
        cpu = dict(line.split(":", 1) for line in file.read().split("\n\n")[0].splitlines() if ":" in line)
    cpu = {key.strip(): value.strip() for key, value in cpu.items()}
    flags = [f for f in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16") if f in cpu.get("flags", "").split()]
    return (f"{cpu.get('model name', '?')}, family {cpu.get('cpu family', '?')} model {cpu.get('model', '?')}, "
            f"{os.cpu_count()} cores, {' '.join(flags)}")


def environment(folder, packages):
    """The python of a virtual environment with what of the packages can be installed and loaded, in PyPI's newest version
    unless the environment has one, and their versions."""
    python = folder + "/bin/python"
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    versions = {}
    for package in packages:
        subprocess.run([python, "-m", "pip", "install", "--quiet", package, "numpy", "h5py"], stdout=sys.stderr)
        loaded = subprocess.run([python, "-c", f"import {package}, h5py; print({package}.__version__)"],
                                stdout=subprocess.PIPE, text=True)
        if loaded.returncode == 0:
            versions[package] = loaded.stdout.strip()
        else:
            print(f"{os.path.basename(sys.argv[0])}: {package} could not be installed or loaded: left out", file=sys.stderr)
    return python, versions
