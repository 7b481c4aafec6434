#include "stages/decode.h"

#include <optional>
#include <utility>

#include "models/search_settings.h"
#include "stages/decode_job.h"

namespace heed {

void DecodeConfig::check_search() const {
  if (n_best > beam) fail<UsageError>("--n-best: got ", n_best, ", wanted 1 to the beam's ", beam);
}

namespace {

/// Options that only make sense with another.
void check_options(const DecodeRequest& request) {
  const DecodeConfig& config = request.config;
  if (!config.sample) request.refuse({"temperature", "top-k", "top-p"}, " needs --sample");
  if (config.sample) request.refuse({"beam", "length-penalty"}, " cannot be combined with --sample");
  if (!request.paths.force.empty())
    request.refuse({"beam", "max-length", "prefix"}, " cannot be combined with --force");
  if (request.paths.saliency.empty())
    request.refuse({"saliency-method", "saliency-steps", "saliency-baseline"}, " needs --saliency");
  else if (!request.inspect.saliency.integrated())
    request.refuse({"saliency-steps", "saliency-baseline"}, " needs --saliency-method integrated");
}

}  // namespace

Stages decoder_stages(const Model<float>& model) {
  Stages stages;
  stages.decode = stages.logits = model.decoder != nullptr;
  stages.classify = !model.decoder && model.classes;
  if (stages.classify) stages.first = stages.last = model.encoder->sizes().n_layers;
  return stages;
}

void run_decode(const DecodeConfig& asked, const DecodePaths& paths, const DecodeInspection& inspect,
                std::uint64_t seed, int threads,
                const std::function<bool(const std::string& option)>& given) {
  DecodeConfig config = asked;
  const DecodeRequest request{config, paths, inspect, seed, threads, given};
  check_options(request);
  if (!paths.saliency.empty() && !inspect.values.edits.empty())
    fail<UsageError>("--saliency cannot be combined with edits: edited values have no gradients");
  const Precision precision = precision_of(config);
  if (precision != Precision::float32 && !paths.saliency.empty())
    fail<UsageError>("--saliency cannot be combined with --precision ", config.precision,
                     ": rounded products have no gradients");
  const bool needs_encoder = !paths.saliency.empty() || inspect.values.needs_names();
  io::FrameReader input = io::FrameReader::begin(paths.input);
  LoadedModel loaded = load_model(request.model(), needs_encoder ? Needed::everything : Needed::decoder);
  loaded.model->set_precision(precision);
  std::optional<SearchSettings> usual = search_settings_of(loaded.origin);
  if (usual) {
    overlay(fields_of(*usual), fields_of(config), [&](const std::string& option) { return !given(option); });
  }
  const auto job = loaded.model->decoder
                       ? translate_job(request, std::move(loaded), usual.value_or(SearchSettings{}))
                       : predict_job(request, std::move(loaded));
  job->run(std::move(input));
}

}  // namespace heed
