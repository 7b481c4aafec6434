"""What the system can do to input and output: full disks, closed streams, dead partners, odd paths, terminals."""
import os
import pty
import resource
import shutil
import signal
import subprocess
import time

from support import TensorsTest, main


def limit_file_size():
    """Writes beyond 40 KB fail, as on a full disk; the signal that comes with it is ignored."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))


class Faults(TensorsTest):
    def setUp(self):
        super().setUp()
        self.sample = self.path("sample.h5")
        self.tensors("sample", self.sample)

    def left_over(self):
        return [name for name in os.listdir(self.folder) if name.startswith(".heed")]

    def shell(self, command):
        """Status of each part of a pipeline, and the messages; $T is the program, $S the sample, $D the folder."""
        environment = dict(os.environ, T=self.program, S=self.sample, D=self.folder)
        done = subprocess.run(["bash", "-c", command + '; echo "${PIPESTATUS[@]}" >&2'], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
        *messages, statuses = done.stderr.splitlines()
        return statuses.split(), "\n".join(messages)

    def test_full_disk(self):
        for command in '"$T" copy "$S" - >/dev/full', '"$T" copy "$S" /dev/full':
            statuses, message = self.shell(command)
            self.assertEqual(statuses, ["1"])
            self.assertIn("No space left on device", message)
        statuses, message = self.shell('"$T" copy "$S" "$D/x.h5" 2>/dev/full')
        self.assertEqual(statuses, ["0"])

    def test_disk_full_while_a_file_is_written(self):
        target = self.path("target.h5")
        with open(target, "w") as file:
            file.write("old")
        message = self.refused("sample", target, preexec_fn=limit_file_size)
        self.assertIn("File too large", message)
        with open(target) as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(self.left_over(), [])
        with open(self.path("redirected.h5"), "wb") as file:
            done = subprocess.run([self.program, "sample", "-"], stdout=file, stderr=subprocess.PIPE, preexec_fn=limit_file_size)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"File too large", done.stderr)
        self.assertEqual(os.path.getsize(self.path("redirected.h5")), 0)

    def test_one_failing_call_is_never_success(self):
        """The n-th write, truncation, sync or rename fails, for each n that a run reaches."""
        strace = shutil.which("strace")
        if not strace or subprocess.run([strace, "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("strace cannot trace here")
        target, log = self.path("target.h5"), self.path("log")
        # A traced process cannot be searched for leaks.
        environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        for call, error, words in (("pwrite64", "ENOSPC", "No space left"), ("ftruncate", "ENOSPC", "No space left"),
                                   ("fsync", "EIO", "Input/output error"), ("rename", "EIO", "Input/output error")):
            for n in range(1, 1000):
                done = subprocess.run([strace, "-f", "-o", log, "-y", "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={n}",
                                       self.program, "copy", self.sample, target], stderr=subprocess.PIPE, timeout=60,
                                      env=environment)
                with open(log) as file:
                    injected = [line for line in file if "(INJECTED)" in line]
                if not injected:
                    break
                if all("memfd:" in line for line in injected):  # memory that is shared cannot grow: the socket does
                    self.assertEqual((done.returncode, done.stderr), (0, b""), (call, n))
                    self.assertEqual(self.tensors("copy", target, "-"), self.tensors("copy", self.sample, "-"))
                    os.unlink(target)
                    continue
                # The folder is synced after the rename: that failure comes when the file is in place.
                in_place = call == "fsync" and n == 2
                self.assertEqual(done.returncode, 1, (call, n, done.stderr))
                self.assertIn(words, done.stderr.decode(), (call, n))
                self.assertEqual(os.path.exists(target), in_place, (call, n))
                self.assertEqual(self.left_over(), [], (call, n))
            self.assertEqual(done.returncode, 0, (call, n, done.stderr))
            self.assertGreater(n, 1, call + " is never called")
            os.unlink(target)

    def test_closed_streams(self):
        statuses, message = self.shell('"$T" copy "$S" - >&-')
        self.assertEqual((statuses, "Bad file descriptor" in message), (["1"], True), message)
        statuses, message = self.shell('"$T" copy - "$D/x.h5" <&-')
        self.assertEqual((statuses, "Bad file descriptor" in message), (["1"], True), message)
        statuses, _ = self.shell('"$T" copy "$S" "$D/closed.h5" <&- >&- 2>&-')
        self.assertEqual(statuses, ["0"])
        self.tensors("drain", self.path("closed.h5"))

    def test_a_reader_that_stops(self):
        statuses, message = self.shell('"$T" stream 20 - | head -c 1')
        self.assertEqual((statuses, message), (["141", "0"], ""))

    def test_a_writer_that_dies(self):
        for command in '"$T" nonsense', ':', '"$T" stream 20 - | head -c 300000':
            statuses, message = self.shell(command + ' | "$T" copy - "$D/out.h5"')
            self.assertEqual(statuses[-1], "1")
            self.assertIn("did the previous command fail?", message)
            self.assertFalse(os.path.exists(self.path("out.h5")))
        self.assertEqual(self.left_over(), [])

    def test_a_slow_writer(self):
        statuses, message = self.shell('{ head -c 100 "$S"; sleep 0.3; tail -c +101 "$S"; } | "$T" copy - "$D/out.h5"')
        self.assertEqual((statuses, message), (["0", "0"], ""))
        with open(self.path("out.h5"), "rb") as out:
            self.assertEqual(out.read(4), b"\x89HDF")

    def test_places_that_cannot_be_written(self):
        os.mkdir(self.path("folder"))
        os.symlink(self.path("nowhere"), self.path("dangling"))
        for target, words in (("missing/x.h5", "No such file or directory"), ("folder", "is a directory"),
                              ("dangling", "symbolic link"), ("sample.h5/x", "Not a directory")):
            self.assertIn(words, self.refused("copy", self.sample, self.path(target)))
        if os.geteuid() != 0:
            os.chmod(self.path("folder"), 0o500)
            self.assertIn("Permission denied", self.refused("copy", self.sample, self.path("folder/x.h5")))

    def test_places_that_cannot_be_read(self):
        for source, words in (("missing.h5", "No such file or directory"), (".", "is a directory")):
            self.assertIn(words, self.refused("drain", self.path(source)))

    def test_odd_names(self):
        names = [b"with space", b"-o", b"new\nline", "\u00e9t\u00e9".encode(), b"invalid\xff", b"n" * 255, b".//x"]
        for name in names:
            target = os.fsencode(self.folder) + b"/" + name
            self.tensors("copy", self.sample, target)
            self.tensors("drain", target)
        self.assertIn("new\\nmissing", self.refused("drain", self.path("new\nmissing")))

    def test_links_and_modes(self):
        os.mkdir(self.path("real"))
        real, link, hard = self.path("real/x.h5"), self.path("link.h5"), self.path("hard.h5")
        with open(real, "w") as file:
            file.write("old")
        os.chmod(real, 0o604)
        os.symlink(real, link)
        os.link(real, hard)
        self.tensors("copy", self.sample, link)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(os.stat(real).st_mode & 0o777, 0o604)
        self.tensors("drain", real)
        with open(hard) as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(os.listdir(self.path("real")), ["x.h5"])

    def test_output_over_input(self):
        self.tensors("copy", self.sample, self.sample)
        self.assertIn(b"9 sentences", self.tensors("drain", self.sample))

    def test_terminals(self):
        controller, terminal = pty.openpty()
        status = subprocess.run([self.program, "sample", "-"], stdout=terminal, stderr=subprocess.PIPE)
        self.assertEqual(status.returncode, 2)
        self.assertIn(b"terminal", status.stderr)
        status = subprocess.run([self.program, "drain", "-"], stdin=terminal, stderr=subprocess.PIPE)
        self.assertEqual(status.returncode, 2)
        os.close(controller)
        os.close(terminal)

    def test_leftovers_of_a_killed_writer_are_cleaned(self):
        child = subprocess.Popen([self.program, "stream", "100000", self.path("big.h5")])
        while not self.left_over():
            time.sleep(0.01)
        self.tensors("copy", self.sample, self.path("other.h5"))
        self.assertEqual(len(self.left_over()), 1, "the file of a living writer stays")
        child.kill()
        child.wait()
        self.assertEqual(len(self.left_over()), 1)
        self.tensors("copy", self.sample, self.path("other.h5"))
        self.assertEqual(self.left_over(), [])

    def test_environment_does_not_matter(self):
        settings = [{"HDF5_USE_FILE_LOCKING": "TRUE"}, {"HDF5_USE_FILE_LOCKING": "BEST_EFFORT"}, {"TZ": "Asia/Tokyo"},
                    {"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8"}, {"TMPDIR": "/nonexistent", "HOME": "/nonexistent"}]
        with open(self.sample, "rb") as file:
            wanted = file.read()
        for setting in settings:
            self.tensors("sample", self.path("again.h5"), env=dict(os.environ, **setting))
            with open(self.path("again.h5"), "rb") as file:
                self.assertEqual(file.read(), wanted, setting)

    def test_memory_stays_the_same_however_long_the_stream(self):
        peaks = []
        for frames in 20, 200:
            stream = subprocess.Popen([self.program, "stream", str(frames), "-"], stdout=subprocess.PIPE)
            output = self.tensors("drain", "-", stdin=stream.stdout).decode()
            stream.stdout.close()
            self.assertEqual(stream.wait(), 0)
            self.assertTrue(output.startswith(f"{frames} frames, {64 * frames} sentences"), output)
            peaks.append(int(output.split()[-2]))
        if "-sanitize" not in self.program:  # sanitizers keep freed memory for a while
            self.assertLess(peaks[1], 1.1 * peaks[0] + 2000)


if __name__ == "__main__":
    main()
