// The learning rate schedule over the updates.
#pragma once

#include <cstdint>

#include "train/train_config.h"

namespace heed {

/// The learning rate of update `step`, counted from 1, `epochs` after the start. `plateau_factor` scales the
/// schedule "plateau".
///   noam          learning_rate d_model^-0.5 min(s^-0.5, s warmup^-1.5)      (Vaswani et al. 2017, eq. 3)
///   inverse-sqrt  linear from 1e-7 to learning_rate over the warm-up, then learning_rate sqrt(warmup / s),
///                 as fairseq does
///   linear        learning_rate times the share of the run that is left until max_epochs or max_updates, whichever
///                 comes first, and over the warm-up also times the share of it that is done
///   constant      learning_rate, after a linear warm-up from 1e-7
///   plateau       as constant, halved whenever a validation brings no improvement
///   halving       as constant, halved halve_after epochs after the start and from then on every halve_every
///                 epochs                                      (Sutskever et al. 2014, section 3.4)
double learning_rate(const TrainConfig& config, std::int64_t d_model, std::int64_t step, double epochs,
                     double plateau_factor);

}  // namespace heed
