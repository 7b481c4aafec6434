#include "models/foreign/rotary.h"

#include <cmath>

namespace heed::foreign {
namespace {

constexpr const char *kBase = "rope_theta", *kShare = "partial_rotary_factor";

/// The settings specific to YaRN. Null is their default, and so, for the two betas, is 0.
void read_yarn(ConfigFields& fields, TransformerOptions& config) {
  const auto above_zero = [&](const char* name, double otherwise) {
    const double stated = fields.real(name, 0);
    return stated == 0 ? otherwise : stated;
  };
  config.rope_low_freq_factor = above_zero("beta_slow", 1);
  config.rope_high_freq_factor = above_zero("beta_fast", 32);
  config.rope_original_length = fields.number("original_max_position_embeddings", config.max_length);
  const auto scale = [&](double weight) {
    return config.rope_factor <= 1 ? 1 : 0.1 * weight * std::log(config.rope_factor) + 1;
  };
  const double mscale = fields.real("mscale", 0), all = fields.real("mscale_all_dim", 0);
  config.rope_attention_factor =
      fields.real("attention_factor", mscale != 0 && all != 0 ? scale(mscale) / scale(all) : scale(1));
  fields.expect("truncate", {true});
}

/// The fields of rope_scaling, or of rope_parameters. `share`: of a head, if they do not state it.
void read_scaling(const RotarySettingsOf& family, ConfigFields& fields, TransformerOptions& config,
                  double& share) {
  const char* type = fields.has("rope_type") ? "rope_type" : "type";
  config.rope_scaling =
      family.is_scaled
          ? fields.choice(type, "default",
                          {{"default", "none"}, {"linear", "linear"}, {"llama3", "llama3"}, {"yarn", "yarn"}})
          : fields.choice(type, "default", {{"default", "none"}});
  fields.without_effect("rope_type type");
  if (config.rope_scaling != "none") config.rope_factor = fields.real("factor");
  if (config.rope_scaling == "llama3") {
    config.rope_low_freq_factor = fields.real("low_freq_factor");
    config.rope_high_freq_factor = fields.real("high_freq_factor");
    config.rope_original_length = fields.number("original_max_position_embeddings");
  }
  if (config.rope_scaling == "yarn") read_yarn(fields, config);
  if (family.share)
    share = fields.real(kShare, share);
  else
    fields.expect(kShare, {1.0, 1});
}

/// The fields of rope_parameters, which hold those of each kind of layer if the kinds differ.
void read_parameters(const RotarySettingsOf& family, ConfigFields& fields, TransformerOptions& config,
                     double& share) {
  if (family.local_base) {
    ConfigFields local = fields.object("sliding_attention");
    config.rope_local_base = local.real(kBase, config.rope_local_base);
    for (const char* type : {"rope_type", "type"}) local.expect(type, {"default"});
    fields.merge(local);
    ConfigFields global = fields.object("full_attention");
    config.rope_base = global.real(kBase, config.rope_base);
    read_scaling(family, global, config, share);
    fields.merge(global);
  } else {
    config.rope_base = fields.real(kBase, config.rope_base);
    read_scaling(family, fields, config, share);
  }
}

/// As transformers rounds it.
std::int64_t part_of(std::int64_t d_head, double share) {
  return static_cast<std::int64_t>(static_cast<double>(d_head) * share);
}

}  // namespace

void read_rotary(const RotarySettingsOf& family, ConfigFields& fields, TransformerOptions& config) {
  config.positions = "rotary";
  config.rope_base = fields.real(family.base, family.usual_base);
  if (family.local_base) config.rope_local_base = fields.real(family.local_base, 10000);
  double share = family.share ? fields.real(family.share, family.usual_share) : 1;
  ConfigFields old = fields.object("rope_scaling");
  old.without_effect(kBase);
  read_scaling(family, old, config, share);
  fields.merge(old);
  if (fields.has("rope_parameters")) {
    const TransformerOptions stated = config;
    const double stated_share = share;
    ConfigFields parameters = fields.object("rope_parameters");
    read_parameters(family, parameters, config, share);
    fields.merge(parameters);
    if ((fields.has(family.base) && stated.rope_base != config.rope_base) ||
        (family.local_base && fields.has(family.local_base) &&
         stated.rope_local_base != config.rope_local_base) ||
        (family.share && fields.has(family.share) && stated_share != share) ||
        (fields.has("rope_scaling") &&
         (stated.rope_scaling != config.rope_scaling || stated.rope_factor != config.rope_factor)))
      fields.refuse("rope_parameters",
                    concat("what ", family.base, family.local_base ? concat(", ", family.local_base) : "",
                           family.share ? concat(", ", family.share) : "", " and rope_scaling say"));
  }
  if (config.sliding_window == 0 ||
      (config.rope_local_base == config.rope_base && config.rope_scaling == "none"))
    config.rope_local_base = 0;  // as in the others
  const Json& parameters = fields.get("rope_parameters");
  const bool is_inside = parameters.is_object() && parameters.contains(kShare);
  const std::string name = is_inside ? concat("rope_parameters.", kShare) : family.share ? family.share : "";
  if (!(share > 0 && share <= 1)) {
    fields.refuse(concat(name, " is ", share, ", wanted a share of each head, up to 1"));
    return;
  }
  if (config.n_heads == 0) return;  // which is refused later
  const std::int64_t d_head = config.head_width();
  config.d_rotary = part_of(d_head, share);
  if (config.d_rotary < 2 && d_head > 1)
    fields.refuse(concat(name, " is ", share, ": no pair of features of a head turns"));
  if (config.d_rotary == d_head) config.d_rotary = 0;
}

std::string rotary_formula(const PositionOptions& config) {
  const std::string width = config.d_rotary > 0 ? std::to_string(config.d_rotary) : "d_head";
  return concat(
      "rotary, pairs (i, i + ", width, "/2), base ", config.rope_base, ", scaling ", config.rope_scaling,
      config.rope_local_base > 0 ? concat("; with the window base ", config.rope_local_base, ", not scaled")
                                 : "");
}

void want_rotary(const RotarySettingsOf& family, const TransformerOptions& config, Requirements& require) {
  require.want("positions=rotary");
  require.keep("rope_base");
  if (family.is_scaled)
    require.keep("rope_scaling rope_factor rope_low_freq_factor rope_high_freq_factor rope_original_length");
  if (config.rope_scaling == "yarn") require.keep("rope_attention_factor");
  if (family.share)
    require.keep("d_rotary");
  else
    require.want("d_rotary", {0, config.head_width()});
  if (!family.local_base) return;
  require.keep("rope_local_base");
  // Layers with the window have a base of their own, without scaling.
  if (config.sliding_window > 0 && config.rope_local_base == 0) require.want("rope_scaling=none");
}

void state_rotary(const RotarySettingsOf& family, const TransformerOptions& config, Json& out) {
  out[family.base] = config.rope_base;
  if (family.local_base)
    out[family.local_base] = config.rope_local_base > 0 ? config.rope_local_base : config.rope_base;
  if (family.share) {
    const std::int64_t d_head = config.head_width(), turned = config.d_rotary > 0 ? config.d_rotary : d_head;
    double share = static_cast<double>(turned) / static_cast<double>(d_head);
    while (part_of(d_head, share) < turned) share = std::nextafter(share, 2);
    out[family.share] = share;
  }
  Json rope;
  if (config.rope_scaling != "none")
    rope = {{"rope_type", config.rope_scaling}, {"factor", config.rope_factor}};
  if (config.rope_scaling == "llama3") {
    rope["low_freq_factor"] = config.rope_low_freq_factor;
    rope["high_freq_factor"] = config.rope_high_freq_factor;
    rope["original_max_position_embeddings"] = config.rope_original_length;
  }
  if (config.rope_scaling == "yarn") {
    rope["beta_slow"] = config.rope_low_freq_factor;
    rope["beta_fast"] = config.rope_high_freq_factor;
    rope["original_max_position_embeddings"] = config.rope_original_length;
    rope["attention_factor"] = config.rope_attention_factor;
  }
  out["rope_scaling"] = rope;
}

}  // namespace heed::foreign
