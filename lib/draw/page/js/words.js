// Pieces and words: which pieces make a word, and matrices between words.

const MARKS = new Set(["<s>", "</s>", "<bos>", "<eos>", "<pad>", "[CLS]", "[SEP]", "[PAD]", "<|endoftext|>"]);

/// How the pieces of a sentence are marked: "bpe" (pie@@ ce), "sentencepiece" (_pie ce, with U+2581),
/// "wordpiece" (pie ##ce), or null.
function pieceStyle(labels) {
  const pieces = labels.filter((label) => !MARKS.has(label));
  if (pieces.some((label) => label.startsWith("\u2581"))) return "sentencepiece";
  if (pieces.some((label) => label.endsWith("@@"))) return "bpe";
  if (pieces.some((label) => label.length > 2 && label.startsWith("##"))) return "wordpiece";
  return null;
}

/// Whether pieces[i] goes on with the word of the piece before it.
function continues(pieces, i, style) {
  if (i === 0 || MARKS.has(pieces[i]) || MARKS.has(pieces[i - 1])) return false;
  if (style === "sentencepiece") return !pieces[i].startsWith("\u2581");
  if (style === "wordpiece") return pieces[i].startsWith("##");
  return style === "bpe" && pieces[i - 1].endsWith("@@");
}

function bare(piece, style) {
  if (MARKS.has(piece)) return piece;
  if (style === "sentencepiece") return piece.replace("\u2581", "");
  if (style === "wordpiece") return piece.replace(/^##/, "");
  return style === "bpe" ? piece.replace(/@@$/, "") : piece;
}

/// The words of an axis: [{text, first, count, mark}], with first and count in pieces.
function wordsOf(pieces, { merge, drop }) {
  const style = merge ? pieceStyle(pieces) : null;
  const words = [];
  pieces.forEach((piece, i) => {
    if (style && continues(pieces, i, style)) {
      const word = words[words.length - 1];
      word.text += bare(piece, style);
      word.count += 1;
    } else {
      words.push({ text: bare(piece, style), first: i, count: 1, mark: MARKS.has(piece) });
    }
  });
  return drop ? words.filter((word) => !word.mark) : words;
}

/// `matrix` between words: sums over the pieces of a column, means over the pieces of a row.
function betweenWords(matrix, options) {
  const rowWords = wordsOf(matrix.rowLabels, options);
  const colWords = wordsOf(matrix.colLabels, options);
  const result = { ...matrix, rowWords, colWords, rows: rowWords.length, cols: colWords.length };
  if (result.rows === matrix.rows && result.cols === matrix.cols) return result;
  result.values = new Float64Array(result.rows * result.cols);
  rowWords.forEach((row, r) => {
    colWords.forEach((col, c) => {
      let sum = 0;
      for (let i = row.first; i < row.first + row.count; ++i) {
        for (let j = col.first; j < col.first + col.count; ++j) sum += matrix.values[i * matrix.cols + j];
      }
      result.values[r * result.cols + c] = sum / row.count;
    });
  });
  return result;
}

/// A sentence for a menu: its words, cut short.
function sentenceText(pieces, longest = 60) {
  const text = wordsOf(pieces, { merge: true, drop: true }).map((word) => word.text).join(" ");
  const characters = [...text];
  return characters.length > longest ? characters.slice(0, longest - 1).join("") + "\u2026" : text;
}
