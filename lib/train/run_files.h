// The files of one training run, all named after the model that it makes, and the lock that keeps a second
// trainer away from them:
//   MODEL                      the result, written at the end
//   MODEL.checkpoint           everything that --resume needs; MODEL.checkpoint.previous is the one before
//   MODEL.epochs/epoch_0017.h5 the model after an epoch, while the result may need it
//   MODEL.metrics.tsv          one row per validation
//   MODEL.lock                 held while training
// MODEL.checkpoint.previous.new exists only briefly; a killed run leaves it to the next one.
#pragma once

#include <string>

namespace heed {

struct RunFiles {
  explicit RunFiles(const std::string& model_path)
      : model(model_path),
        checkpoint(model_path + ".checkpoint"),
        previous_checkpoint(model_path + ".checkpoint.previous"),
        next_previous(previous_checkpoint + ".new"),
        snapshot_folder(model_path + ".epochs"),
        metrics(model_path + ".metrics.tsv"),
        lock(model_path + ".lock") {}

  /// Throws Error if the file system allows the model's name but not the longer names of the other files.
  void expect_names_fit() const;

  std::string model, checkpoint, previous_checkpoint, next_previous, snapshot_folder, metrics, lock;
};

/// Held from construction to destruction; the system releases it when the process dies, so a stale file is no
/// obstacle.
class RunLock {
 public:
  /// Takes the lock, creates the snapshot folder, removes what a killed run left unfinished, and checks that
  /// every file of the run can be written. Throws Error naming path and cause, or the other trainer's process
  /// id.
  explicit RunLock(const RunFiles& files);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  void take(const RunFiles& files);
  void release();
  /// The process id that the lock file names; empty: none.
  std::string owner() const;
  void write_owner() const;

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace heed
