"""Gives every numeric option that --help lists a number out of its range; it must be refused by name, at once."""
import re
import subprocess

TOOLS = ["tokenize", "embed", "encode", "attend", "decode", "train", "score", "viz-dump"]
ANY = {"--threshold",  # of an arc: below 0 has a meaning
       "--sentence", "--layer", "--head"}  # words too


def options(tool):
    """(name, metavar, text) of each option that takes a value."""
    found = []
    for line in subprocess.run([tool, "--help"], capture_output=True, text=True).stdout.splitlines():
        option = re.match(r"  (?:-\w, )?(--[\w-]+) (\S+)(.*)", line)
        if option:
            found.append([*option.groups()])
        elif line.startswith(" " * 30) and found:
            found[-1][2] += " " + line.strip()
        else:
            found.append(["", "", ""])
    return [option for option in found if option[1] in ("N", "X", "K", "BYTES") and option[0] not in ANY]


def out_of_range(text):
    number = r"(-?[\d.e+-]+)"
    for pattern in rf"\({number} to {number}\)", rf"\(at least {number}", rf"\(above {number}":
        for low in re.findall(pattern, text):
            low = float(low[0] if isinstance(low, tuple) else low)
            return str(int(low) - (0 if "(above" in text else 1))
    return None


tried = 0
for tool in TOOLS:
    for name, metavar, text in options(tool):
        value = out_of_range(text)
        if value is None:
            print(f"{tool} {name} says no range:{text}")
            continue
        done = subprocess.run([tool, f"{name}={value}"], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
        if done.returncode != 2 or not done.stderr.startswith(f"{tool}: {name}: got '{value}', wanted"):
            print(f"{tool} {name}={value}: status {done.returncode}: {done.stderr}", end="")
        tried += 1
print("every number is checked" if tried > 90 else f"only {tried} options found")
