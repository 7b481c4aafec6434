"""What the interop tests share: the program `tensors`, a folder, h5py and company or a skip."""
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77


def require(*modules):
    """Imports the modules, or ends the test as skipped, saying so."""
    found = []
    for name in modules:
        try:
            found.append(__import__(name))
        except ImportError as error:
            print(f"skipped: {error} (scripts/setup installs it)")
            sys.exit(SKIPPED)
    return found


def text(item, name):
    """An attribute of our files: a string or a list of them, which h5py gives as bytes."""
    value = item.attrs[name]
    return [v.decode() for v in value] if getattr(value, "ndim", 0) else value.decode()


class TensorsTest(unittest.TestCase):
    """Each test has a folder of its own and can run the program whose path is the first argument."""

    program = sys.argv[1] if len(sys.argv) > 1 else "tensors"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heed-interop-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return f"{self.folder}/{name}"

    def run_tensors(self, *arguments, **options):
        """Runs the program; returns its status, output and messages as bytes."""
        done = subprocess.run([self.program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60, **options)
        return done.returncode, done.stdout, done.stderr

    def tensors(self, *arguments, **options):
        """Runs the program, which must succeed; returns its output."""
        status, output, messages = self.run_tensors(*arguments, **options)
        self.assertEqual(status, 0, messages)
        return output

    def refused(self, *arguments, **options):
        """Runs the program, which must fail cleanly; returns its message."""
        status, output, messages = self.run_tensors(*arguments, **options)
        text = messages.decode("utf-8", "replace")
        self.assertEqual(status, 1, text)
        self.assertEqual(text.count("\n"), 1, "one line, not: " + text)
        return text


def main():
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
