import { posix } from 'node:path'
import type { Findings } from './findings.ts'

/** Limit of arXiv for the files of a submission: https://info.arxiv.org/help/sizes.html. */
export const MAX_BUNDLE_BYTES = 50 * 1024 * 1024
/** Larger figures are unusual, and slow for readers. */
const LARGE_FIGURE_BYTES = 10 * 1024 * 1024
const MAX_FILES = 1_000
/** https://info.arxiv.org/help/submit.html: letters, digits, and `_ + - . , =`. */
const FILE_NAME = /^[A-Za-z0-9_+\-.,=]+$/
const TYPES = new Set(['.tex', '.bbl', '.sty', '.cls', '.bst', '.bib', '.pdf', '.png', '.jpg', '.jpeg'])
const FIGURE_TYPES = new Set(['.pdf', '.png', '.jpg', '.jpeg'])
const MAX_DEPTH = 200

/** File of a bundle. `head`: the first bytes, at least eight. */
export interface BundleFile {
  readonly name: string
  readonly bytes: number
  readonly head: Uint8Array
}

/** Checks the names, the types and the sizes of the files of a bundle: flat, or in the folder `figures`. */
export function checkLayout(files: readonly BundleFile[], findings: Findings): void {
  if (!files.some(({ name }) => name === 'main.tex'))
    findings.add('arxiv_layout', 'error', 'The bundle has no main.tex at the top.')
  if (files.length > MAX_FILES) findings.add('arxiv_layout', 'error', `The bundle has more than ${MAX_FILES} files.`)
  const seen = new Set<string>()
  for (const { name, bytes, head } of files) {
    const shown = name.slice(0, 200)
    const parts = name.split('/')
    if (
      name.startsWith('/') ||
      /^[A-Za-z]:/.test(name) ||
      name.includes('\\') ||
      parts.includes('..') ||
      parts.includes('')
    )
      findings.add('arxiv_path_outside', 'error', `${shown}: the path is not inside of the bundle.`)
    else if (parts.some(part => part.startsWith('.')))
      findings.add('arxiv_hidden_file', 'error', `${shown}: arXiv deletes hidden files.`)
    else if (!parts.every(part => FILE_NAME.test(part)))
      findings.add('arxiv_file_name', 'error', `${shown}: arXiv allows letters, digits and _ + - . , = in file names.`)
    else if (parts.length > 2 || (parts.length === 2 && parts[0] !== 'figures'))
      findings.add('arxiv_layout', 'error', `${shown}: files are at the top or in figures/.`)
    const lower = name.toLowerCase()
    if (seen.has(lower))
      findings.add('arxiv_layout', 'error', `${shown}: two files differ only in upper and lower case.`)
    seen.add(lower)
    const type = posix.extname(lower)
    if (!TYPES.has(type))
      findings.add('arxiv_file_type', 'error', `${shown}: not a file type of a PDFLaTeX submission.`)
    else if (FIGURE_TYPES.has(type) && !isFormat(type, head))
      findings.add('arxiv_image_format', 'error', `${shown}: the content is not of the type ${type}.`)
    if (FIGURE_TYPES.has(type) && bytes > LARGE_FIGURE_BYTES)
      findings.add('arxiv_figure_large', 'warning', `${shown}: the figure has ${bytes} bytes; reduce its resolution.`)
  }
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total > MAX_BUNDLE_BYTES)
    findings.add('arxiv_size', 'error', `The files have ${total} bytes; the limit of arXiv is ${MAX_BUNDLE_BYTES}.`)
}

/** Compares the first bytes with the signature of a format. */
function isFormat(type: string, head: Uint8Array): boolean {
  const signature = { '.pdf': '%PDF-', '.png': '\u0089PNG\r\n\u001a\n' }[type] ?? '\u00ff\u00d8\u00ff'
  return Buffer.from(head).toString('latin1').startsWith(signature)
}

/** Checks a LaTeX document without running it: braces, environments, references, and the files that it names. */
export function checkDocument(tex: string, files: readonly Pick<BundleFile, 'name'>[], findings: Findings): void {
  const scan = new DocumentScan(tex, findings)
  scan.run()
  const items = scan.argumentsOf('bibitem')
  for (const key of [...scan.argumentsOf('cite')].flatMap(keys => keys.split(',')))
    if (!items.has(key.trim()))
      findings.add('arxiv_citation_unknown', 'error', `\\cite{${key.trim()}} has no \\bibitem.`)
  const labels = scan.argumentsOf('label')
  for (const name of scan.argumentsOf('ref'))
    if (!labels.has(name)) findings.add('arxiv_label_missing', 'error', `\\ref{${name}} has no \\label.`)
  const names = new Set(files.map(({ name }) => name))
  for (const name of scan.argumentsOf('includegraphics')) {
    if (!names.has(name))
      findings.add('arxiv_image_missing', 'error', `\\includegraphics{${name}} names no file of the bundle.`)
    if (!FIGURE_TYPES.has(posix.extname(name).toLowerCase()))
      findings.add('arxiv_image_format', 'error', `\\includegraphics{${name}} is no PDF, PNG or JPEG file.`)
  }
}

const TOKEN = /\\(?:([A-Za-z@]+)\*?|[\s\S])|%[^\n]*|\^\^|[{}]/g
const ARGUMENT = /^(?:\[[^\]]{0,1000}\])?\{([^{}]{0,1000})\}/
const MAX_ARGUMENT = 2_010
const COLLECTED = ['cite', 'bibitem', 'label', 'ref', 'includegraphics'] as const
type Collected = (typeof COLLECTED)[number]
/** Commands that read or write files, run programs, or change what characters mean. */
const FORBIDDEN =
  /^(?:input|include|openin|openout|read|write|immediate|catcode|def|edef|gdef|xdef|let|csname|newcommand|renewcommand|special|directlua|usepackage|RequirePackage|scantokens|everyjob|loop|verbatiminput|lstinputlisting|bibliography|ShellEscape)$/

/** One pass over a document. */
class DocumentScan {
  readonly #tex: string
  readonly #findings: Findings
  readonly #arguments = new Map<Collected, Set<string>>(COLLECTED.map(name => [name, new Set()]))
  readonly #environments: string[] = []
  #depth = 0
  #isBody = false

  constructor(tex: string, findings: Findings) {
    this.#tex = tex
    this.#findings = findings
  }

  /** Returns the different arguments of a command. */
  argumentsOf(command: Collected): ReadonlySet<string> {
    return this.#arguments.get(command) ?? new Set()
  }

  run(): void {
    let isComplete = false
    for (const { 0: token, 1: command, index } of this.#tex.matchAll(TOKEN)) {
      if (command === undefined) this.#sign(token)
      else if (this.#command(command, index + token.length)) {
        isComplete = true
        break
      }
    }
    if (!isComplete) this.#unbalanced('The document has no \\end{document}.')
    if (this.#environments.length > 0) this.#unbalanced(`\\begin{${this.#environments.at(-1)}} has no end.`)
    if (this.#depth !== 0)
      this.#findings.add('arxiv_braces_unbalanced', 'error', `${this.#depth} braces are not closed.`)
  }

  #sign(token: string): void {
    if (token === '^^')
      this.#findings.add('arxiv_command_unknown', 'error', 'The document contains ^^, which hides characters.')
    this.#depth += { '{': 1, '}': -1 }[token] ?? 0
    if (this.#depth === MAX_DEPTH)
      this.#findings.add('arxiv_braces_unbalanced', 'error', `Braces are nested ${MAX_DEPTH} deep.`)
    if (this.#depth >= 0) return
    this.#findings.add('arxiv_braces_unbalanced', 'error', 'A closing brace has no opening one.')
    this.#depth = 0
  }

  /** Returns true at the end of the document. */
  #command(command: string, at: number): boolean {
    const argument = ARGUMENT.exec(this.#tex.slice(at, at + MAX_ARGUMENT))?.[1] ?? ''
    if (command === 'begin') {
      this.#environments.push(argument)
      this.#isBody ||= argument === 'document'
    } else if (command === 'end') {
      const open = this.#environments.pop()
      if (open !== argument) this.#unbalanced(`\\end{${argument}} follows \\begin{${open ?? ''}}.`)
      return argument === 'document'
    } else if (this.#isBody && FORBIDDEN.test(command))
      this.#findings.add('arxiv_command_unknown', 'error', `\\${command} is not allowed in the text.`)
    this.#arguments.get(command as Collected)?.add(argument)
    return false
  }

  #unbalanced(message: string): void {
    this.#findings.add('arxiv_environment_unbalanced', 'error', message)
  }
}
