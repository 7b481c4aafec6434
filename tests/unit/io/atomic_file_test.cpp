// Whole files or none, for text and pictures; the tests of tensor files and of the system's faults are
// elsewhere.
#include "io/atomic_file.h"

#include <sys/stat.h>

#include <thread>

#include "base/cleanup.h"
#include "io/text_writer.h"
#include "samples.h"
#include "support/error_of.h"

using namespace heed;
using namespace heed::io;
using namespace heed::io::test;
using heed::test::error_of;

BOOST_AUTO_TEST_CASE(bytes_arrive_whole) {
  TemporaryFolder folder;
  const std::string bytes = std::string("a\0b\n", 4) + std::string(300000, 'x');
  write_file(folder / "x", bytes);
  BOOST_CHECK(bytes_of(folder / "x") == bytes);
  write_file(folder / "x", "");
  BOOST_CHECK(bytes_of(folder / "x").empty());
  BOOST_CHECK_EQUAL(folder.files().size(), 1);
}

BOOST_AUTO_TEST_CASE(nothing_changes_without_commit) {
  TemporaryFolder folder;
  put_bytes(folder / "x", "old");
  {
    AtomicFile file(folder / "x");
    file.write("new");
    BOOST_CHECK_EQUAL(folder.files().size(), 2);
  }
  BOOST_CHECK_EQUAL(bytes_of(folder / "x"), "old");
  BOOST_CHECK_EQUAL(folder.files().size(), 1);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_too_long_is_refused_before_the_work) {
  TemporaryFolder folder;
  BOOST_CHECK_NO_THROW(AtomicFile(folder / std::string(255, 'x')));
  BOOST_CHECK(error_of([&] { AtomicFile(folder / std::string(256, 'x')); }).ends_with("File name too long"));
  BOOST_CHECK_EQUAL(folder.files().size(), 0);
}

BOOST_AUTO_TEST_CASE(a_signal_removes_the_temporary_file) {
  TemporaryFolder folder;
  AtomicFile file(folder / "x");
  BOOST_CHECK_EQUAL(folder.files().size(), 1);
  unlink_temporaries();  // what the signal handler calls
  BOOST_CHECK_EQUAL(folder.files().size(), 0);
}

BOOST_AUTO_TEST_CASE(writers_in_one_folder_do_not_take_each_others_files_for_leftovers) {
  TemporaryFolder folder;
  std::vector<std::string> errors(4);
  {
    std::vector<std::jthread> writers;
    for (std::size_t w = 0; w < errors.size(); ++w)
      writers.emplace_back([&, w] {
        try {
          for (int i = 0; i < 200; ++i) write_file(folder / ("x" + std::to_string(w)), "new");
        } catch (const Error& error) {
          errors[w] = error.what();
        }
      });
  }
  for (const std::string& error : errors) BOOST_CHECK_EQUAL(error, "");
  BOOST_CHECK_EQUAL(folder.files().size(), errors.size());
}

BOOST_AUTO_TEST_CASE(pipes_and_devices_are_written_in_place) {
  check_fails([] { write_file("/dev/full", "x"); }, {"/dev/full", "No space left on device"});
  Pipe pipe;
  write_file(pipe.write_path(), "hello");
  char text[6] = {};
  BOOST_CHECK_EQUAL(read(pipe.fd[0], text, 5), 5);
  BOOST_CHECK_EQUAL(std::string(text), "hello");
  check_fails([] { write_file("", "x"); }, {"empty"});
}
