#include "draw/page/page.h"
#include "draw/dump/forms.h"
#include "io/text_writer.h"

namespace heed::draw {

void dump_page(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  io::TextWriter output(options.html);
  const PageOptions page{options.figure.title, options.figure.range, options.figure.colormap};
  output.write(html_page(reader, options.name, selections_of(options), page));
  output.finish();
}

}  // namespace heed::draw
