#include "base/cleanup.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>
#include <vector>

using namespace heed;

namespace {

std::string temporary_file() {
  std::string path = "/tmp/heed-cleanup-XXXXXX";
  int fd = mkstemp(path.data());
  BOOST_REQUIRE(fd >= 0);
  close(fd);
  return path;
}

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cleanup)

BOOST_AUTO_TEST_CASE(registered_files_are_unlinked_and_finished_ones_stay) {
  std::string unfinished = temporary_file(), finished = temporary_file();
  int slot = register_temporary(unfinished), done = register_temporary(finished);
  unregister_temporary(done);
  unlink_temporaries();
  BOOST_CHECK(!exists(unfinished));
  BOOST_CHECK(exists(finished));
  unregister_temporary(slot);
  unlink(finished.c_str());
}

BOOST_AUTO_TEST_CASE(a_full_table_and_a_long_path_are_refused_quietly) {
  BOOST_CHECK_EQUAL(register_temporary(std::string(5000, 'x')), -1);
  std::vector<int> slots;
  for (int i = 0; i < 1000 && (slots.empty() || slots.back() >= 0); ++i) {
    slots.push_back(register_temporary("/tmp/heed-no-such-file"));
  }
  BOOST_CHECK_EQUAL(slots.back(), -1);
  BOOST_CHECK(slots.size() > 8);
  for (int slot : slots) unregister_temporary(slot);
}

BOOST_AUTO_TEST_SUITE_END()
