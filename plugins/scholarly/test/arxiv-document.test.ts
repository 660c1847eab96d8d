import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PublicationManifest } from '@svc/contracts'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { checkDocument, createBundle, Findings, texDocument, texMath, texText } from '#arxiv'
import { workOf } from '#root'
import './built-worker.ts'
import { nastyMarkdown, nastyMath } from './arxiv-arbitrary.ts'
import { arxivWork, PNG } from './arxiv-samples.ts'

/** Commands that the writer uses; the rest of a document is text. */
const COMMANDS = new Set(
  [
    'documentclass pdfoutput usepackage emergencystretch title author and date begin end maketitle small item par noindent',
    'section subsection subsubsection paragraph subparagraph emph textbf texttt textsuperscript textsubscript href cite',
    'bibitem ensuremath setcounter hline includegraphics centering caption linewidth textheight rule ttfamily raggedright',
    'newline mbox footnote text mathbb mathrm frac dfrac sqrt left right boxtimes square'
  ].flatMap(line => line.split(' '))
)

function project(t: Test): string {
  return t.testdir({ docs: { 'paper.md': '# Paper', figures: { 'plot.png': PNG } } })
}

t.test('a body becomes the committed document, which PDFLaTeX has compiled', async t => {
  const { contents, handoff } = await createBundle(arxivWork(), project(t))
  const tex = String(contents.get('main.tex'))
  const file = join(import.meta.dirname, 'fixtures/arxiv/main.tex')
  if (process.env.SVC_TEST_UPDATE === '1') await writeFile(file, tex)
  t.equal(tex, await readFile(file, 'utf8'))
  t.same(handoff.findings, [])
  t.same([...contents.keys()], ['main.tex', 'figures/fig1.png'])
})

t.test('no text breaks out: the document keeps its structure, and contains only known commands', t => {
  const outline = (tex: string): readonly string[] => tex.match(/\\(?:begin|end)\{document\}|\\usepackage[^\n]*/g) ?? []
  const write = (work: PublicationManifest): string => texDocument(work, workOf(work), new Findings()).tex
  const expected = outline(write(arxivWork()))
  const accents = new Set([...'`\'^~="rHvdcukb.'])
  fc.assert(
    fc.property(nastyMarkdown, body => {
      const tex = write(
        arxivWork({ body_markdown: body, title: `T ${body}`, abstract_text: body, author: `A ${body}` })
      )
      if (!/^[\x20-\x7e\n]*$/.test(tex)) throw new Error('a character is not ASCII')
      if (outline(tex).join() !== expected.join()) throw new Error('the outline changed')
      const findings = new Findings()
      checkDocument(tex, [{ name: 'figures/fig1.png' }], findings)
      const [first] = findings.list()
      if (first !== undefined) throw new Error(`${first.code}: ${first.message}\n${tex}`)
      // Display formulas, escaped characters and commands of single characters.
      for (const [, name = ''] of tex.matchAll(/\\([A-Za-z]+|.)/gs)) {
        if (name.length === 1 && !/[a-zA-Z]/.test(name)) continue
        const isKnown = COMMANDS.has(name) || accents.has(name) || texMath(`\\${name}`) !== null
        if (!isKnown && !/^(?:text|quote|guil|[a-zA-Z]{1,2}$|pounds|ldots|dag|ddag)/.test(name))
          throw new Error(`unknown command \\${name}\n${tex}`)
      }
    }),
    { numRuns: 120 }
  )
  t.end()
})

t.test('a formula is refused, or it is closed and contains known commands only', t => {
  fc.assert(
    fc.property(nastyMath, source => {
      const tex = texMath(source)
      if (tex === null) return
      const findings = new Findings()
      checkDocument(`\\begin{document}{${tex}}\\end{document}`, [], findings)
      if (findings.list().length > 0) throw new Error(JSON.stringify(findings.list()))
      if (/\\(?:input|def)|\^\^|(?<!\\)[$#%~]/.test(tex)) throw new Error(tex)
    }),
    { numRuns: 500 }
  )
  t.equal(texMath('x_i^2 + \\alpha'), 'x_{i}^{2} + \\alpha ')
  t.equal(texMath('x₁₂² ≤ ∞'), 'x_{12}^{2} {\\leq} {\\infty}')
  for (const wrong of [
    '\\input{a}',
    'a^b^c',
    '{',
    '}',
    '\\frac{a}',
    '\\left( x',
    'x & y',
    '\\begin{document}',
    '^^5c',
    '$',
    '%',
    '\\text{$}',
    ''
  ])
    t.equal(texMath(wrong), null, wrong)
  t.equal(texMath('{'.repeat(100_000)), null, 'depth is limited')
  t.end()
})

t.test('the document stays within the limits of LaTeX', t => {
  const body = (body_markdown: string) => {
    const work = arxivWork({ body_markdown })
    return texDocument(work, workOf(work), new Findings()).tex.split('\\maketitle')[1] ?? ''
  }
  const count = (tex: string, part: string): number => tex.split(part).length - 1
  t.equal(count(body(`${'> '.repeat(9)}deep`), '\\begin{quote}'), 6, 'six quotes')
  const mixed = body(
    '> > > > - a\n> > > >   - b\n> > > >     - c\n> > > >\n> > > >       ```\n> > > >       code\n> > > >       ```'
  )
  t.equal(count(mixed, '\\begin{quote}') + count(mixed, '\\begin{itemize}'), 6, 'quotes and lists together')
  t.match(mixed, /\{\\ttfamily[^}]*\\mbox\{\}code\\par\}/)
  t.match(body('> # First'), '\\mbox{}\\section{First}', 'a heading in a quote, without one above')
  t.match(body('## Second\n\n- # First'), '\\item{} \\mbox{}\\section{First}')
  t.match(body('| $$x$$ |\n|---|'), '\\ensuremath{\\displaystyle x}')
  t.equal(count(body('![a](figures/plot.png)\n\n'.repeat(85)), '\\clearpage'), 2, 'figures without text between them')
  t.equal(texMath('\\begin{split}a&=b\\end{split}'), '\\begin{aligned}a & =b\\end{aligned}')
  t.equal(texMath(`\\begin{cases}${'a&'.repeat(2)}b\\end{cases}`), null)
  t.equal(texMath(`\\begin{matrix}${'a&'.repeat(50)}b\\end{matrix}`), null)
  t.ok(texMath(`\\begin{matrix}${'a&'.repeat(49)}b\\\\c&d\\end{matrix}`))
  t.equal(texMath('a"'), null, 'not left out')
  t.end()
})

t.test('characters become commands, or are reported', async t => {
  t.equal(
    texText('Erdős & Łódź – “x”').tex,
    "Erd\\H{o}s \\& \\L{}\\'{o}d\\'{z} \\textendash{} \\textquotedblleft{}x\\textquotedblright{}"
  )
  t.equal(texText('−∑α²½ﬁ').tex, '\\ensuremath{-}\\ensuremath{\\sum}\\ensuremath{\\alpha}\\textsuperscript{2}1/2fi')
  t.equal(texText('Țară').tex, '\\textcommabelow{T}ar\\u{a}')
  t.same(texText('漢 ok 漢').unsupported, ['漢'])
  const { handoff } = await createBundle(arxivWork({ body_markdown: '漢 and 🎉' }), project(t))
  t.match(handoff.findings, [
    { code: 'arxiv_character_unsupported', severity: 'error', message: /U\+6F22/ },
    { code: 'arxiv_character_unsupported', severity: 'error', message: /U\+1F389/ }
  ])
})

t.test('what the body refers to is checked', async t => {
  const codes = async (body_markdown: string) => {
    const { handoff } = await createBundle(arxivWork({ body_markdown }), project(t))
    return handoff.findings.map(({ code }) => code)
  }
  t.same(await codes('[@unknown]'), ['arxiv_citation_unknown'])
  t.same(await codes('$\\nocommand$'), ['arxiv_math_unsupported'])
  t.same(await codes('![a](https://example.org/a.png)'), ['arxiv_image_remote'])
  t.same(await codes('![a](a.svg)'), ['arxiv_image_format'])
  t.same(await codes('![a](../../../etc/passwd.png)'), ['arxiv_path_outside'])
  t.same(await codes('![a](none.png)'), ['arxiv_image_missing'])
  t.same(await codes('<b>x</b>'), ['arxiv_html_ignored'])
  t.same(await codes('[^1]: Alone.'), ['arxiv_footnote_unused'])
  t.same(await codes('Text [@gray1981] ![a](figures/plot.png)'), [])
})

t.test('a body that takes too long, is too large or too deep ends with a typed failure', async t => {
  const failed = (body_markdown: string, limitMs = 30_000) =>
    createBundle(arxivWork({ body_markdown }), project(t), { limitMs })
  await t.rejects(failed('['.repeat(100_000), 500), { failureClass: 'preflight', code: 'body_too_complex' })
  await t.rejects(failed('a'.repeat(1_000_001)), { failureClass: 'preflight', message: /1000000 characters/ })
  await t.rejects(failed('> '.repeat(20_000)), { failureClass: 'preflight', code: 'content_invalid' })
  const slow = Array.from({ length: 3 }, () => failed('['.repeat(100_000), 500).catch(error => error.code))
  t.same(await Promise.all(slow), Array(3).fill('body_too_complex'), 'two at once, and the third after them')
  const { handoff } = await createBundle(arxivWork(), project(t))
  t.same(handoff.findings, [], 'and others follow')
  const ended = new AbortController()
  ended.abort(new Error('drained'))
  const { signal } = ended
  await t.rejects(createBundle(arxivWork(), project(t), { signal }), { message: 'drained' })
})
