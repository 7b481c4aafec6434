// The page's HTML, CSS and scripts, embedded into the library by embed.cmake.
#pragma once

namespace heed::draw {

extern const char* const html_template;  ///< page.html
extern const char* const html_style;     ///< page.css
extern const char* const html_script;    ///< the scripts in the order of embed.cmake, inside one function

}  // namespace heed::draw
