# Writes the source file of the page's HTML, CSS and scripts (page.h).
#   cmake -D FOLDER=lib/draw/page -D OUTPUT=assets.cpp -P embed.cmake
# The scripts share one function, so that nothing of theirs is global; only app runs anything at once.
set(scripts dom data words numbers surface viewport heatmap lines grid equations steps figure panel controls keys
  show surroundings app)

file(READ ${FOLDER}/page.html template)
file(READ ${FOLDER}/page.css style)
set(script "(() => {\n\"use strict\";\n")
foreach(name ${scripts})
  file(READ ${FOLDER}/js/${name}.js text)
  string(APPEND script "\n${text}")
endforeach()
string(APPEND script "})();\n")

set(source "#include \"draw/page/page.h\"\n\nnamespace heed::draw {\n\n")
foreach(part IN ITEMS Template Style Script)
  string(TOLOWER ${part} text)
  string(APPEND source "const char* const kHtml${part} = R\"~heed~(${${text}})~heed~\";\n\n")
endforeach()
file(WRITE ${OUTPUT} "${source}}  // namespace heed::draw\n")
