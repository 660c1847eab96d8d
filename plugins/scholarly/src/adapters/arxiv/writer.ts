import type { Token, Tokens } from 'marked'
import { collapse, type Work } from '../work.ts'
import { texAddress } from './address.ts'
import { bibliographyKeys } from './bibliography.ts'
import { texText } from './characters.ts'
import type { Findings } from './findings.ts'
import {
  type CiteToken,
  decodeEntities,
  type FootnoteTextToken,
  type FootnoteToken,
  type MathToken
} from './markdown.ts'
import { texMath } from './math.ts'

/** LaTeX allows four levels of each kind of list, and six of lists and quotes. */
const MAX_LIST_DEPTH = 4
const MAX_DEPTH = 6
/** LaTeX keeps 52 figures that have no place yet. */
const MAX_FIGURES_IN_FLIGHT = 40
const SECTIONS = ['section', 'subsection', 'subsubsection', 'paragraph', 'subparagraph']

/** Image of the body. */
export interface Figure {
  /** Path as in the body. */
  readonly source: string
  /** Path in the bundle, such as `figures/fig1.png`. */
  readonly name: string
}

/** Writes tokens of Markdown as LaTeX. */
export class TexWriter {
  readonly figures: Figure[] = []
  readonly #findings: Findings
  readonly #keys: ReadonlyMap<string, string>
  readonly #notes = new Map<string, readonly Token[]>()
  readonly #usedNotes = new Set<string>()
  /** Above zero where LaTeX cannot set a footnote: in headings, tables and other footnotes. */
  #noFootnotes = 0
  #figureCount = 0

  constructor({ citations }: Pick<Work, 'citations'>, findings: Findings) {
    this.#findings = findings
    this.#keys = bibliographyKeys(citations)
  }

  /** Escapes text. */
  text(text: string): string {
    const { tex, unsupported } = texText(text)
    for (const character of unsupported) {
      const points = [...character.slice(0, 20)].map(
        each => `U+${(each.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
      )
      this.#findings.add(
        'arxiv_character_unsupported',
        'error',
        `PDFLaTeX cannot typeset the character ${points.join(' ')}; write it in another way.`
      )
    }
    return tex
  }

  /** Escapes text; empty lines separate paragraphs. */
  paragraphs(text: string): string {
    return text
      .split(/\n\s*\n/)
      .map(paragraph => this.text(collapse(paragraph)))
      .filter(paragraph => paragraph !== '')
      .join('\n\n')
  }

  body(tokens: readonly Token[], title: string): string {
    const first = tokens.findIndex(({ type }) => type !== 'space')
    const heading = tokens[first]
    const isTitle = heading?.type === 'heading' && collapse((heading as Tokens.Heading).text) === collapse(title)
    const rest = isTitle ? tokens.slice(first + 1) : tokens
    const depths = rest.flatMap(token => (token.type === 'heading' ? [(token as Tokens.Heading).depth] : []))
    for (const token of rest) {
      const { type, id, tokens: note } = token as FootnoteTextToken
      if (type === 'footnoteText' && !this.#notes.has(id)) this.#notes.set(id, note)
    }
    const tex = this.#blocks(rest, { top: Math.min(...depths, 6), itemize: 0, enumerate: 0, depth: 0 })
    for (const id of this.#notes.keys())
      if (!this.#usedNotes.has(id))
        this.#findings.add('arxiv_footnote_unused', 'warning', `The footnote ${id} is never referred to, and left out.`)
    return tex
  }

  #blocks(tokens: readonly Token[], level: Level): string {
    return tokens
      .map(token => this.#block(token, level))
      .filter(tex => tex !== '')
      .join('\n\n')
  }

  /** Content of an item or a quote, which LaTeX wants to begin with text: a heading is none. */
  #content(tokens: readonly Token[], level: Level): string {
    const start = tokens.find(({ type }) => type !== 'space')?.type === 'heading' ? '\\mbox{}' : ''
    return start + this.#blocks(tokens, level) || '~'
  }

  #block(token: Token, level: Level): string {
    switch (token.type) {
      case 'heading': {
        const { depth, tokens = [] } = token as Tokens.Heading
        // In lists and quotes there may be higher ones than at the top.
        const name = SECTIONS[Math.max(0, Math.min(depth - level.top, SECTIONS.length - 1))]
        return `\\${name}{${this.#withoutFootnotes(() => this.#inline(tokens))}}`
      }
      case 'paragraph':
        return this.#paragraph((token as Tokens.Paragraph).tokens ?? [])
      case 'text': {
        const { tokens, text } = token as Tokens.Text
        return tokens === undefined ? this.text(decodeEntities(text)) : this.#inline(tokens)
      }
      case 'code':
        return this.#code((token as Tokens.Code).text, level)
      case 'blockquote': {
        const { tokens = [] } = token as Tokens.Blockquote
        if (level.depth >= MAX_DEPTH) return this.#blocks(tokens, level)
        return `\\begin{quote}\n${this.#content(tokens, { ...level, depth: level.depth + 1 })}\n\\end{quote}`
      }
      case 'list':
        return this.#list(token as Tokens.List, level)
      case 'table':
        return this.#withoutFootnotes(() => this.#table(token as Tokens.Table))
      case 'hr':
        return '\\par\\noindent\\rule{\\linewidth}{0.4pt}\\par{}'
      case 'math':
        return this.#math(token as MathToken)
      case 'html':
        return this.#html(token.raw)
      case 'space':
      case 'def':
      case 'footnoteText':
        return ''
      default:
        return this.#inline([token])
    }
  }

  #paragraph(tokens: readonly Token[]): string {
    const [only, ...others] = tokens.filter(({ type, raw }) => type !== 'text' || raw.trim() !== '')
    if (only?.type !== 'image' || others.length > 0) return this.#inline(tokens)
    const image = only as Tokens.Image
    const name = this.#figure(image)
    const caption = collapse(decodeEntities(image.text))
    if (name === null) return this.text(caption)
    return [
      '\\begin{figure}[htbp]',
      '\\centering',
      `\\includegraphics[width=\\linewidth,height=0.8\\textheight,keepaspectratio]{${name}}`,
      ...(caption === '' ? [] : [`\\caption{${this.text(caption)}}`]),
      '\\end{figure}',
      ...(++this.#figureCount % MAX_FIGURES_IN_FLIGHT === 0 ? ['\\clearpage'] : [])
    ].join('\n')
  }

  /** Code without an environment: each line is text, so that nothing in it can end it. */
  #code(text: string, { depth }: Level): string {
    const lines = text
      .replace(/\t/g, '    ')
      .split('\n')
      .map(line => `\\mbox{}${this.#mono(line)}`)
    const content = `\\ttfamily\\small\\raggedright\n${lines.join('\\newline{}\n')}`
    return depth >= MAX_DEPTH ? `{${content}\\par}` : `\\begin{quote}\n${content}\n\\end{quote}`
  }

  #mono(text: string): string {
    return [...text.matchAll(/ +|[^ ]+/g)]
      .map(([part]) => (part.startsWith(' ') ? '~'.repeat(part.length) : this.text(part)))
      .join('')
  }

  #list({ ordered, start, items }: Tokens.List, level: Level): string {
    const name = ordered ? 'enumerate' : 'itemize'
    const depth = level[name] + 1
    const isTooDeep = depth > MAX_LIST_DEPTH || level.depth >= MAX_DEPTH
    const inner = isTooDeep ? level : { ...level, [name]: depth, depth: level.depth + 1 }
    const content = items.map(item => {
      const box = item.task ? `\\ensuremath{${item.checked === true ? '\\boxtimes' : '\\square'}} ` : ''
      return `${box}${this.#content(item.tokens, inner)}`
    })
    if (isTooDeep) return content.map(each => `\\textbullet{} ${each}`).join('\n\n')
    const counter = ['enumi', 'enumii', 'enumiii', 'enumiv'][depth - 1]
    const first = ordered && typeof start === 'number' && start !== 1 && start < 1_000_000
    return [
      `\\begin{${name}}`,
      ...(first ? [`\\setcounter{${counter}}{${start - 1}}`] : []),
      ...content.map(each => `\\item{} ${each}`),
      `\\end{${name}}`
    ].join('\n')
  }

  #table({ header, align, rows }: Tokens.Table): string {
    const columns = header.map((_, index) => ({ left: 'l', center: 'c', right: 'r' })[align[index] ?? 'left'])
    const row = (cells: readonly Tokens.TableCell[]): string =>
      `${cells.map(({ tokens }) => `{}${this.#inline(tokens)}`).join(' & ')} \\\\`
    return [
      '\\begin{center}',
      `\\begin{tabular}{${columns.join('')}}`,
      '\\hline',
      row(header),
      '\\hline',
      ...rows.map(row),
      '\\hline',
      '\\end{tabular}',
      '\\end{center}'
    ].join('\n')
  }

  #inline(tokens: readonly Token[]): string {
    return tokens.map(token => this.#span(token)).join('')
  }

  #span(token: Token): string {
    switch (token.type) {
      case 'text': {
        const { tokens, text } = token as Tokens.Text
        return tokens === undefined ? this.text(decodeEntities(text)) : this.#inline(tokens)
      }
      case 'escape':
        return this.text((token as Tokens.Escape).text)
      case 'em':
        return `\\emph{${this.#inline((token as Tokens.Em).tokens ?? [])}}`
      case 'strong':
        return `\\textbf{${this.#inline((token as Tokens.Strong).tokens ?? [])}}`
      case 'del':
        return `\\textsuperscript{[}${this.#inline((token as Tokens.Del).tokens ?? [])}\\textsuperscript{deleted]}`
      case 'codespan':
        return `\\texttt{${this.text((token as Tokens.Codespan).text)}}`
      case 'br':
        return '\\mbox{}\\newline{}\n'
      case 'link':
        return this.#link(token as Tokens.Link)
      case 'image': {
        const image = token as Tokens.Image
        const name = this.#figure(image)
        return name === null
          ? this.text(decodeEntities(image.text))
          : `\\includegraphics[width=0.5\\linewidth,keepaspectratio]{${name}}`
      }
      case 'math':
        return this.#math(token as MathToken)
      case 'cite':
        return this.#cite(token as CiteToken)
      case 'footnote':
        return this.#footnote(token as FootnoteToken)
      case 'html':
        return this.#html(token.raw)
      case 'checkbox':
        return ''
      default:
        return this.text(token.raw)
    }
  }

  #link({ href, tokens = [] }: Tokens.Link): string {
    const label = this.#inline(tokens)
    const address = texAddress(href)
    return address === null ? label : `\\href{${address}}{${label}}`
  }

  #math({ text, display, raw }: MathToken): string {
    const tex = texMath(text)
    if (tex === null) {
      this.#findings.add(
        'arxiv_math_unsupported',
        'error',
        `The formula ${JSON.stringify(collapse(text).slice(0, 100))} has an error, or a command that is not supported.`
      )
      return this.text(collapse(raw))
    }
    if (!display) return `\\ensuremath{${tex}}`
    // Headings and cells of tables cannot contain displays.
    return this.#noFootnotes === 0 ? `\\[${tex}\\]` : `\\ensuremath{\\displaystyle ${tex}}`
  }

  #cite({ items, raw }: CiteToken): string {
    const known = items.map(({ key }) => this.#keys.get(key))
    for (const { key } of items.filter((_, index) => known[index] === undefined))
      this.#findings.add('arxiv_citation_unknown', 'error', `The citation @${key} has no item in citations_json.`)
    if (known.includes(undefined)) return this.text(raw)
    if (items.every(({ suffix }) => suffix === '')) return `\\cite{${known.join(',')}}`
    return items
      .map(({ suffix }, index) => `\\cite${suffix === '' ? '' : `[{${this.text(suffix)}}]`}{${known[index]}}`)
      .join(', ')
  }

  #footnote({ id, raw }: FootnoteToken): string {
    const tokens = this.#notes.get(id)
    // A footnote in a footnote could contain itself.
    if (tokens === undefined || this.#noFootnotes > 1) return this.text(raw)
    this.#usedNotes.add(id)
    const isAllowed = this.#noFootnotes === 0
    this.#noFootnotes += 2
    const note = this.#inline(tokens)
    this.#noFootnotes -= 2
    return isAllowed ? `\\footnote{${note}}` : ` (${note})`
  }

  #withoutFootnotes(write: () => string): string {
    this.#noFootnotes++
    const tex = write()
    this.#noFootnotes--
    return tex
  }

  /** Comments are left out; other HTML has no meaning in LaTeX, and appears as text. */
  #html(raw: string): string {
    const text = raw.replace(/<!--[\s\S]*?-->/g, '')
    if (/^\s*<br\s*\/?>\s*$/i.test(text)) return '\\mbox{}\\newline{}\n'
    if (text.trim() === '') return ''
    this.#findings.add('arxiv_html_ignored', 'warning', 'The body contains HTML, which appears as text.')
    return this.text(text)
  }

  /** Returns the name of a figure in the bundle; null for one that cannot be part of it. */
  #figure({ href }: Tokens.Image): string | null {
    const source = safeDecode(href)
    if (/^(?:[a-z][a-z0-9+.-]{0,30}:|\/\/)/i.test(source)) {
      this.#findings.add(
        'arxiv_image_remote',
        'error',
        `The image ${source.slice(0, 200)} is not a file of the project.`
      )
      return null
    }
    const known = this.figures.find(figure => figure.source === source)
    if (known !== undefined) return known.name
    const extension = /\.(pdf|png|jpe?g)$/i.exec(source)?.[1]?.toLowerCase()
    if (extension === undefined) {
      this.#findings.add(
        'arxiv_image_format',
        'error',
        `The image ${source.slice(0, 200)} is no PDF, PNG or JPEG file.`
      )
      return null
    }
    const name = `figures/fig${this.figures.length + 1}.${extension === 'jpeg' ? 'jpg' : extension}`
    this.figures.push({ source, name })
    return name
  }
}

interface Level {
  /** Depth of the headings that become sections. */
  readonly top: number
  readonly itemize: number
  readonly enumerate: number
  /** Open lists and quotes. */
  readonly depth: number
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
