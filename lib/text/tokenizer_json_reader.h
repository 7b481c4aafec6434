// tokenizer.json of the library tokenizers (https://github.com/huggingface/tokenizers), of the types that
// text/foreign_tokenizer.h names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "text/foreign_tokenizer.h"

namespace heed::text {

/// `json`: the content of the file `path`. Throws Error naming the file and what is not supported.
ForeignTokenizer read_tokenizer_json(nlohmann::json json, const std::string& path, std::int64_t rows);

}  // namespace heed::text
