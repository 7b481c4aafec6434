#include "train/trainer.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/number.h"
#include "io/text_writer.h"
#include "models/model_file.h"
#include "tensor/kernels_in_use.h"
#include "train/ranges.h"
#include "train/schedule.h"

namespace heed {

namespace {

using Clock = std::chrono::steady_clock;

/// A number for people: 4 significant digits.
std::string brief(double x) {
  if (std::isnan(x)) return "nan";  // without the sign
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

std::string numbered(const char* word, std::int64_t n, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%s_%0*lld.h5", word, digits, static_cast<long long>(n));
  return text;
}

/// The width used by the schedule noam.
std::int64_t width_of(const Model<float>& model) {
  return model.encoder ? model.encoder->sizes().d_model : model.decoder->sizes().d_model;
}

void copy(std::span<const float> from, std::span<float> to) {
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

Trainer::Trainer(Model<float>& model, const Corpus& training, const Corpus& validation, TrainSetup setup)
    : model_(model),
      corpus_(training),
      setup_(std::move(setup)),
      config_(setup_.config),
      exchange_(*setup_.exchange),
      files_(setup_.output),
      objective_(model, config_.r_drop),
      gradients_(model, objective_, training, setup_.threads, setup_.seed, config_, setup_.times_ops,
                 exchange_),
      slices_(gradients_.slices()),
      optimizer_(config_, slices_.of(exchange_.rank()).count, setup_.threads),
      validates_(validation.size() > 0),
      validator_(model, objective_, validation,
                 std::max<std::int64_t>(1, config_.batch_tokens / config_.shards), setup_.threads, exchange_),
      snapshots_(files_.snapshot_folder, model, setup_.vocabularies),
      started_(Clock::now()),
      saved_at_(started_) {
  if (exchange_.size() > config_.shards)
    fail_together<UsageError>(exchange_, "started as ", exchange_.size(), " ranks, but a batch has only ",
                              config_.shards, " shards: start fewer, or give --shards ", exchange_.size(),
                              " or more, best a multiple");
  if (first()) lock_.emplace(files_);
  start_epoch();
}

/// Calls visit(name, this rank's slice, space for all) for each of the optimizer's moments. With several
/// ranks only rank 0 has space for all, and for one moment at a time, so that it needs no more memory than a
/// single process.
void Trainer::for_moments(
    const std::function<void(const std::string& name, std::span<float> own, std::span<float> all)>& visit) {
  if (!optimizer_.remembers()) return;
  Moments& moments = optimizer_.moments();
  std::vector<float> whole(exchange_.size() > 1 && first() ? slices_.layout().size() : 0);
  for (auto [which, own] :
       {std::pair("first", std::span(moments.first)), {"second", std::span(moments.second)}})
    visit(moments.optimizer + "/" + which, own, exchange_.size() == 1 ? own : std::span(whole));
}

/// Gathers the moments of all ranks on rank 0, as stored in a checkpoint.
TensorMap Trainer::gathered_moments() {
  TensorMap map;
  for_moments([&](const std::string& name, std::span<const float> own, std::span<float> all) {
    slices_.gather(own, all);
    if (first()) add_moment(name, all, model_, map);
  });
  return map;
}

/// The inverse.
void Trainer::scatter_moments(const std::string& checkpoint, const TensorMap& map) {
  for_moments([&](const std::string& name, std::span<float> own, std::span<float> all) {
    if (first()) read_moment(checkpoint, map, name, model_, all);
    slices_.scatter(all, own);
  });
}

/// Checks that each rank received what the owners of the slices computed.
void Trainer::expect_equal_parameters() {
  if (exchange_.size() == 1) return;
  const std::span<const float> values = std::as_const(model_).parameters.values();
  std::vector<std::uint64_t> hashes(
      static_cast<std::size_t>(range_count(static_cast<std::int64_t>(values.size()))));
  for_ranges(static_cast<std::int64_t>(values.size()), setup_.threads,
             [&](std::int64_t range, std::size_t from, std::size_t count) {
               std::uint64_t h = kHashStart;
               for (const float x : values.subspan(from, count))
                 h = hash_step(h, std::bit_cast<std::uint32_t>(x));
               hashes[static_cast<std::size_t>(range)] = h;
             });
  std::uint64_t digest = kHashStart;
  for (const std::uint64_t h : hashes) digest = hash_step(digest, h);
  expect_same(
      exchange_, {{"the digest of the parameters", std::to_string(digest)}},
      concat("bytes were damaged on their way before update ", state_.step + 1, ": go on with --resume"));
}

bool Trainer::resume() {
  bool there = first() && std::filesystem::exists(files_.checkpoint);
  if (first() && !there && std::filesystem::exists(files_.previous_checkpoint)) {
    fail(escaped(files_.checkpoint), ": no such file; --resume-previous continues from ",
         escaped(files_.previous_checkpoint));
  }
  broadcast(exchange_, std::span(&there, 1));
  if (!there) return false;
  try {
    load(files_.checkpoint);
  } catch (const OtherRunError&) {
    throw;
  } catch (const Error& error) {
    if (!std::filesystem::exists(files_.previous_checkpoint)) throw;
    fail(error.what(), "; --resume-previous continues from ", escaped(files_.previous_checkpoint));
  }
  return true;
}

void Trainer::resume_previous() {
  load(files_.previous_checkpoint);
}

void Trainer::load(const std::string& checkpoint) {
  {
    TensorMap map;
    if (first()) map = load_checkpoint(checkpoint, setup_.identity, state_, model_);
    state_ = unpacked(broadcast(exchange_, packed(state_)));
    broadcast(exchange_, model_.parameters.values());
    scatter_moments(checkpoint, map);
  }
  exchange_.step = state_.step;
  start_epoch();
  if (state_.position > static_cast<std::int64_t>(batches_.size())) {
    fail_together(exchange_, escaped(checkpoint), ": position ", state_.position, " in an epoch of ",
                  batches_.size(), " batches");
  }
  saved_names_ = names_needed(state_);
  saved_step_ = state_.step;
}

void Trainer::expect_same_arithmetic() {
  if (exchange_.size() == 1) return;
  const std::size_t next = epoch_complete() ? 0 : static_cast<std::size_t>(state_.position);
  const std::string digest =
      arithmetic_digest(model_, objective_, corpus_, batches_[next], setup_.threads, setup_.seed, config_);
  // The first covers all shapes, the second all computation.
  expect_same(
      exchange_,
      {{"what computes products", kernels_in_use()}, {"what the gradient of a batch comes to", digest}},
      "their processors or libraries compute other bits: train on machines of one kind, or give "
      "--allow-mixed-processors for a model that depends on which rank computes what");
}

void Trainer::start_epoch() {
  if (setup_.redraw) setup_.redraw(state_.epoch);
  batches_ = make_batches(corpus_, config_.batch_tokens, config_.shards, setup_.seed, state_.epoch);
}

std::string Trainer::limit() const {
  if (validation_due()) return "";
  if (config_.max_updates > 0 && state_.step >= config_.max_updates)
    return concat("--max-updates ", config_.max_updates);
  if (config_.max_epochs > 0 && state_.epoch >= config_.max_epochs)
    return concat("--max-epochs ", config_.max_epochs);
  if (config_.patience > 0 && state_.without_gain >= config_.patience)
    return concat("--patience ", config_.patience);
  if (wishes_.time_is_up) return concat("--max-minutes ", brief(config_.max_minutes));
  return "";
}

bool Trainer::validation_due() const {
  if (state_.validated_step == state_.step) return false;
  return epoch_complete() || (config_.validate_every > 0 && state_.step % config_.validate_every == 0);
}

Trainer::Outcome Trainer::run(const std::atomic<bool>& stop) {
  started_ = saved_at_ = Clock::now();
  progress_start_ = state_.step;
  const std::int64_t expected = expected_updates();
  progress_.emplace(
      "updates", expected > 0 ? expected - progress_start_ : 0,
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(config_.log_every)),
      60 * config_.max_minutes);
  wishes_ = agree(exchange_, wishes(stop));
  while (limit().empty()) {
    if (wishes_.stop) return stopped();
    if (validation_due()) {
      if (!validate(stop)) return stopped();
      wishes_ = agree(exchange_, wishes(stop));
    } else {
      update(stop);
    }
    if (checkpoint_due()) save();
  }
  if (saved_step_ != state_.step) save();
  if (!write_result(stop)) return stopped();
  progress_.reset();
  return Outcome::finished;
}

/// This rank's current requests.
Wishes Trainer::wishes(const std::atomic<bool>& stop) const {
  const auto over = [](Clock::time_point start, double minutes) {
    return minutes > 0 && logging::seconds_since(start) >= 60 * minutes;
  };
  return {stop, first() && over(started_, config_.max_minutes),
          first() && over(saved_at_, config_.checkpoint_minutes)};
}

void Trainer::update(const std::atomic<bool>& stop) {
  const auto start = Clock::now();
  const Batch& batch = batches_[static_cast<std::size_t>(state_.position)];
  const std::int64_t step = state_.step + 1;
  const double epochs = static_cast<double>(state_.epoch) +
                        static_cast<double>(state_.position) / static_cast<double>(batches_.size());
  const double rate = learning_rate(config_, width_of(model_), step, epochs, state_.plateau_factor);

  const CrossEntropySums sums =
      gradients_.compute(batch, step, state_.baseline, [&] { return wishes(stop); });
  wishes_ = gradients_.wishes();
  if (!std::isfinite(sums.loss) || !std::isfinite(gradients_.norm())) {
    const std::string bad = gradients_.first_not_finite(batch, step);
    fail_diverged(step, rate,
                  concat("loss ", brief(sums.loss), ", gradient norm ", brief(gradients_.norm()),
                         bad.empty() ? "" : ", first in " + bad));
  }
  const auto update_start = Clock::now();
  const std::span<float> parameters = model_.parameters.values();
  optimizer_.apply(step, rate, gradients_.norm(), slices_.own(gradients_.flat()), slices_.own(parameters));
  slices_.all_gather(parameters);

  state_.step = exchange_.step = step;
  ++state_.position;
  state_.learning_rate = rate;
  state_.gradient_norm = gradients_.norm();
  state_.loss_sum += sums.loss;
  const std::int64_t terms = std::max<std::int64_t>(gradients_.predictions(), 1);
  state_.tokens += terms;
  state_.baseline = 0.9 * state_.baseline - 0.1 * sums.nll / static_cast<double>(terms);
  state_.seconds += logging::seconds_since(start);
  seconds_ = gradients_.seconds();
  seconds_.update += logging::seconds_since(update_start);
  show_progress(sums.loss / static_cast<double>(terms));
}

void Trainer::fail_diverged(std::int64_t step, double rate, const std::string& what) {
  fail_together<DivergedError>(exchange_, "update ", step, ": ", what, ", learning rate ", brief(rate),
                               ": try a lower --learning-rate, a longer --warmup or --clip; ",
                               saved_step_ < 0
                                   ? "no checkpoint was saved yet"
                                   : concat("the last good checkpoint is ", escaped(files_.checkpoint),
                                            " (update ", saved_step_, ")"));
}

// ---- validation ------------------------------------------------------------------------------------------

std::optional<Trainer::Scores> Trainer::evaluate(const std::atomic<bool>& stop) {
  if (!validates_) return Scores{};
  const std::optional<ValidationScore> validation = validator_.run(stop);
  if (!validation) return std::nullopt;
  if (!std::isfinite(validation->loss))
    fail_diverged(state_.step, state_.learning_rate, concat("validation loss ", brief(validation->loss)));
  Scores scores{*validation, -1};
  if (config_.valid_bleu) {
    const std::optional<double> bleu = setup_.bleu(stop);
    if (!bleu) return std::nullopt;
    scores.bleu = *bleu;
  }
  return scores;
}

std::string Trainer::describe(const Scores& scores) {
  return concat("validation loss ", brief(scores.validation.loss), ", perplexity ",
                brief(std::exp(scores.validation.loss)), ", accuracy ", brief(scores.validation.accuracy),
                scores.bleu >= 0 ? ", BLEU " + brief(scores.bleu) : "");
}

double Trainer::score_of(const Scores& scores) const {
  return kStopOn(config_.stop_on) == StopOn::bleu ? scores.bleu : -scores.validation.loss;
}

bool Trainer::validate(const std::atomic<bool>& stop) {
  const std::optional<Scores> scores = evaluate(stop);
  if (!scores) return false;
  const bool epoch_end = epoch_complete();
  state_.validated_step = state_.step;
  if (epoch_end) ++state_.epoch;
  const bool best = add_row(*scores);
  keep_snapshots(best, epoch_end);
  write_metrics();
  if (epoch_end) {
    state_.position = 0;
    start_epoch();
  }
  return true;
}

/// Appends a row of metrics and says whether the score is the best so far.
bool Trainer::add_row(const Scores& scores) {
  const double score = score_of(scores);
  const bool best = !validates_ || state_.metrics.empty() || score > state_.best_score;
  MetricsRow row;
  row.step = state_.step;
  row.epoch = state_.epoch;
  row.train_loss = state_.tokens > 0 ? state_.loss_sum / static_cast<double>(state_.tokens) : 0;
  row.valid_loss = scores.validation.loss;
  row.valid_accuracy = scores.validation.accuracy;
  row.valid_bleu = scores.bleu;
  row.learning_rate = state_.learning_rate;
  row.gradient_norm = state_.gradient_norm;
  row.seconds = state_.seconds;
  row.target_tokens_per_second = state_.seconds > 0 ? static_cast<double>(state_.tokens) / state_.seconds : 0;
  state_.metrics.push_back(row);
  state_.loss_sum = state_.seconds = 0;
  state_.tokens = 0;
  if (best) {
    state_.best_score = score;
    state_.without_gain = 0;
  } else {
    ++state_.without_gain;
    state_.plateau_factor /= 2;
  }
  const double of_epoch = epoch_complete()
                              ? 0  // and counted
                              : static_cast<double>(state_.position) / static_cast<double>(batches_.size());
  logging::note(concat("epoch ", fixed(static_cast<double>(row.epoch) + of_epoch, of_epoch > 0 ? 2 : 0),
                       ", update ", row.step, ": training loss ", brief(row.train_loss),
                       validates_ ? ", " + describe(scores) : "", ", ",
                       std::llround(row.target_tokens_per_second), " ", objective_.unit(), "/s",
                       best ? "" : concat(", ", state_.without_gain, " since the best")));
  return best;
}

void Trainer::keep_snapshots(bool best, bool epoch_end) {
  if (!best && !(epoch_end && config_.average > 0)) return;
  const std::string name =
      epoch_end ? numbered("epoch", state_.epoch, 4) : numbered("update", state_.step, 8);
  const Snapshot snapshot = first() ? snapshots_.save(name, state_.epoch) : Snapshot{name, "", state_.epoch};
  if (best) state_.best = snapshot;
  if (!epoch_end || config_.average == 0) return;
  state_.epochs.push_back(snapshot);
  if (static_cast<std::int64_t>(state_.epochs.size()) > config_.average)
    state_.epochs.erase(state_.epochs.begin());
}

// ---- files -----------------------------------------------------------------------------------------------

bool Trainer::checkpoint_due() const {
  if (saved_step_ == state_.step) return false;
  return wishes_.checkpoint || (config_.checkpoint_every > 0 && state_.step % config_.checkpoint_every == 0);
}

/// Content of this run's model files besides the model itself.
TensorMap Trainer::record() const {
  TensorMap map = model_metrics(state_.metrics);
  map.merge(setup_.origin);
  map.attributes = setup_.history;
  if (!setup_.provenance.empty()) map.merge(provenance_map(setup_.provenance));
  return map;
}

/// Content of the resulting model file, including the outcome of the run.
TensorMap Trainer::final_record(const std::string& ended_by, const Scores& scores) const {
  TensorMap map = record();
  if (setup_.provenance.empty()) return map;
  auto provenance = nlohmann::ordered_json::parse(setup_.provenance);
  provenance["updates"] = state_.step;
  provenance["epochs"] = state_.epoch;
  provenance["ended_by"] = ended_by;
  if (validates_) {
    provenance["valid_loss"] = scores.validation.loss;
    provenance["valid_accuracy"] = scores.validation.accuracy;
  }
  if (scores.bleu >= 0) provenance["valid_bleu"] = scores.bleu;
  map.merge(provenance_map(provenance.dump()));
  return map;
}

void Trainer::save() {
  expect_equal_parameters();
  if (!all_finite(std::as_const(model_).parameters.values()))
    fail_diverged(state_.step, state_.learning_rate, "parameters that are not finite");
  TensorMap moments = gathered_moments();
  if (first()) write_checkpoint(std::move(moments));
  saved_step_ = state_.step;
  saved_at_ = Clock::now();
  logging::verbose(concat("saved ", files_.checkpoint, " after update ", state_.step));
}

void Trainer::write_checkpoint(TensorMap moments) {
  TensorMap map = model_map(model_, setup_.vocabularies, record());
  add_checkpoint(state_, setup_.identity, map);
  map.merge(std::move(moments));
  save_checkpoint(files_, map);
  // The previous checkpoint stays usable, so its snapshots stay, too.
  std::set<std::string> needed = names_needed(state_);
  const std::set<std::string> now = needed;
  needed.insert(saved_names_.begin(), saved_names_.end());
  snapshots_.keep_only(needed);
  saved_names_ = now;
}

void Trainer::write_metrics() const {
  if (first()) io::write_file(files_.metrics, metrics_to_tsv(state_.metrics));
}

Trainer::Outcome Trainer::stopped() {
  progress_.reset();
  if (saved_step_ != state_.step) save();
  logging::note(concat("stopped after update ", state_.step, ", saved ", files_.checkpoint,
                       ": the same command with --resume continues"));
  return Outcome::stopped;
}

/// The end of the run counts as the end of an epoch, but only for the result: the checkpoint, saved before,
/// continues from the middle of its epoch.
bool Trainer::write_result(const std::atomic<bool>& stop) {
  const std::string ended_by = limit();
  bool last_is_new = false, last_is_best = false;
  if (state_.step > 0 && state_.validated_step != state_.step) {
    const std::optional<Scores> scores = evaluate(stop);
    if (!scores) return false;
    last_is_new = true;
    last_is_best = add_row(*scores);
    write_metrics();
  }
  if (first()) copy(result_parameters(last_is_new, last_is_best), model_.parameters.values());
  broadcast(exchange_, model_.parameters.values());
  const std::optional<Scores> scores = evaluate(stop);
  if (!scores) return false;
  if (first())
    save_model(files_.model, model_, setup_.vocabularies, final_record(ended_by, *scores),
               {{}, setup_.scales});
  logging::note(concat("saved ", files_.model, " after ", count_of(state_.step, "update"), ", ended by ",
                       ended_by, validates_ ? ": " + describe(*scores) : ""));
  return true;
}

std::vector<float> Trainer::result_parameters(bool last_is_new, bool last_is_best) const {
  const std::span<const float> present = std::as_const(model_).parameters.values();
  if (config_.average == 0) {
    if (last_is_best || state_.best.name.empty()) return {present.begin(), present.end()};
    return snapshots_.load(state_.best);
  }
  ParameterMean mean;
  const bool full = static_cast<std::int64_t>(state_.epochs.size()) == config_.average;
  for (std::size_t i = last_is_new && full ? 1 : 0; i < state_.epochs.size(); ++i) {
    mean.add(snapshots_.load(state_.epochs[i]));
  }
  if (last_is_new || state_.epochs.empty()) mean.add(present);
  return mean.mean();
}

// ---- progress --------------------------------------------------------------------------------------------

/// The number of the last update as implied by the limits; 0 if they do not imply one.
std::int64_t Trainer::expected_updates() const {
  std::int64_t expected = 0;
  if (config_.max_epochs > 0) {
    expected = state_.step - state_.position +
               (config_.max_epochs - state_.epoch) * static_cast<std::int64_t>(batches_.size());
  }
  if (config_.max_updates > 0 && (expected == 0 || config_.max_updates < expected))
    expected = config_.max_updates;
  return expected;
}

void Trainer::show_progress(double loss) {
  const double speed = state_.seconds > 0 ? static_cast<double>(state_.tokens) / state_.seconds : 0;
  progress_->update(state_.step - progress_start_,
                    concat("epoch ", state_.epoch + 1, ", update ", state_.step, ", loss ", brief(loss), ", ",
                           std::llround(speed), " ", objective_.unit(), "/s"));
}

}  // namespace heed
