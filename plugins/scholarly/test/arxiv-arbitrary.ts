import fc from 'fast-check'

/** Pieces that mean something to TeX or to Markdown. */
const PIECES = [
  '\\',
  '\\input{/etc/passwd}',
  '\\end{document}',
  '\\end{verbatim}',
  '\\write18{id}',
  '\\def\\x{\\x}',
  '\\catcode`\\%=12',
  '^^5c',
  '{',
  '}',
  '{{',
  '$',
  '$$',
  '\\$',
  '$x_1^2$',
  '$\\frac{a}{b}$',
  '$\\input{x}$',
  '$a^b^c$',
  '$\\left( x \\right]$',
  '$\\left( x$',
  '$x & y$',
  '$\\begin{matrix}a&b\\\\c&d\\end{matrix}$',
  '$\\begin{document}$',
  '$\\sqrt[3]{x}^{y}_z$',
  "$f''(x)$",
  '$$\n\\sum_{i=1}^n i\n$$',
  '#',
  '%',
  '&',
  '~',
  '_',
  '^',
  '--',
  '---',
  '``',
  "''",
  '"',
  '<',
  '>>',
  ',,',
  '?`',
  '*a*',
  '**b**',
  '~~c~~',
  '`code ` x`',
  '[l](http://e.org/a_b%20{c}#d~e)',
  '[l](javascript:x)',
  '![i](figures/plot.png)',
  '[@gray1981, p. 3; @web]',
  '[@none]',
  '[^1]',
  '[^x]',
  '\n[^1]: note $x$ [^1] *a*\n',
  '\n# H [^1]\n',
  '\n',
  '\n\n',
  '\n# H\n',
  '\n### H $x$ \\x\n',
  '\n- a\n- [b]\n  1. c\n',
  '\n* [x] t\n',
  '\n9. n\n',
  '\n> q\n> - r\n',
  '\n```\n\\end{quote}\n\n[x] {%\n```\n',
  '\n    indented\n',
  '\n|a|b|\n|-|:-:|\n|[c|*d|\n',
  '\n***\n',
  '<b>h</b>',
  '<!-- c -->',
  '<br>',
  '&amp;&lt;&#92;&#x7b;&#0;',
  'é ß Ł ∑ α ½ ﬁ ², ① –',
  'e\u0301\u0323',
  '\u200b\ufe0f',
  '漢',
  '\u0000\u0007\ud800',
  ' ',
  'word'
]

/** Markdown with much that could end a group, an environment or the document. */
export const nastyMarkdown: fc.Arbitrary<string> = fc
  .array(fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...PIECES) }, fc.string({ unit: 'binary', maxLength: 6 })), {
    maxLength: 40
  })
  .map(parts => parts.join(''))

/** Formulas, most of them wrong. */
export const nastyMath: fc.Arbitrary<string> = fc
  .array(
    fc.constantFrom(
      ...'x 1 + { } ^ _ \\ [ ] ( ) & \\\\ # % ~ $ \\frac \\sqrt \\left( \\right) \\left \\right \\begin{matrix} \\end{matrix} \\text{a} \\text{$} \\alpha \\input \\def \\end{document} ^^ \' " ` ∑ α é \\, \\{ \\} \\mathbb R \\big| @ | <'.split(
        ' '
      ),
      ' '
    ),
    { maxLength: 20 }
  )
  .map(parts => parts.join(''))
