"""Files meant to harm are refused: quickly, in little memory, in one line, without opening what they point to."""
import os
import shutil
import subprocess
import sys
import time

from support import TensorsTest, main, require

require("h5py", "numpy")
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "testdata", "hostile"))
import make  # noqa: E402

SANITIZED = "-sanitize" in TensorsTest.program  # sanitizers need memory of their own
MEMORY = 64 * 1024  # KiB


class Hostile(TensorsTest):
    def refused_in_bounds(self, path):
        """Like refused(), and says how long it took and how much memory it needed."""
        start = time.monotonic()
        child = subprocess.Popen([self.program, "drain", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with child.stdout, child.stderr:
            message = child.stderr.read().decode("utf-8", "replace")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 1, message)
        self.assertEqual(message.count("\n"), 1, message)
        return message, time.monotonic() - start, usage.ru_maxrss

    def test_every_hostile_file(self):
        for name, path, words in make.write_all(self.folder):
            with self.subTest(case=name):
                message, seconds, memory = self.refused_in_bounds(path)
                for word in words:
                    self.assertIn(word, message)
                self.assertNotIn("\x1b", message)
                self.assertLess(seconds, 10)
                if not SANITIZED:
                    self.assertLess(memory, MEMORY + os.path.getsize(path) // 256, message)
                print(f"\nok {name}")  # for the table of scripts/torture rows

    def test_nothing_pointed_to_is_opened(self):
        if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"],
                                                        capture_output=True).returncode != 0:
            self.skipTest("strace is not installed or not allowed")
        for name, path, _ in make.write_all(self.folder):
            done = subprocess.run(["strace", "-f", "-e", "trace=open,openat", self.program, "drain", path],
                                  capture_output=True, text=True, errors="replace")
            self.assertNotIn("/etc/passwd", done.stderr.rsplit("tensors: ", 1)[0], name)

    def test_plugins_stay_out(self):
        path = self.path("x.h5")
        with make.h5py.File(path, "w") as f:
            make.unknown_filter(f)
        environment = dict(os.environ, HDF5_PLUGIN_PATH=self.folder)
        with open(self.path("libdecoy.so"), "wb") as decoy:
            decoy.write(b"not a library")
        self.assertIn("32015", self.refused("drain", path, env=environment))

    def test_changed_bytes_never_crash(self):
        """Bytes of a small file and of a small stream changed one at a time: an error or an answer, never a crash."""
        path = self.path("small.h5")
        with make.h5py.File(path, "w") as f:
            f["g/x"] = make.numpy.arange(6, dtype="f4").reshape(2, 3)
            f["g/x"].dims[0].label = "sentence"
            f["g/text"] = ["a", "b"]
            f["g"].attrs["NX_class"] = "NXdata"
        with open(path, "rb") as file:
            whole = file.read()
        statuses = {}
        for at in range(0, len(whole), 61):
            changed = bytearray(whole)
            changed[at] ^= 0x81
            status, _, message = self.run_tensors("drain", "-", input=bytes(changed))
            statuses[status] = statuses.get(status, 0) + 1
            self.assertIn(status, (0, 1), f"byte {at}: {message}")
        self.assertEqual(sum(statuses.values()), (len(whole) + 60) // 61)


if __name__ == "__main__":
    main()
