import { invalid } from '../body-reader.ts'
import { unsupported } from '../unsupported-fields.ts'

/** Values of a request to `/api/generate` that a template can contain. */
export interface TemplateValues {
  readonly System: string
  readonly Prompt: string
}

type Field = keyof TemplateValues | 'Response'
type Node = string | { readonly field: Field } | { readonly when: Field; readonly yes: Node[]; readonly no: Node[] }

const FIELDS: readonly string[] = ['System', 'Prompt', 'Response']
const MAX_NESTING = 100
const MAX_TEXT_LENGTH = 16 * 1024 * 1024

interface Action {
  readonly start: number
  readonly end: number
  /** Text of the action, including the braces. */
  readonly whole: string
  /** Text between the braces, without the `-` that trims white space. */
  readonly body: string
  readonly trimsBefore: boolean
  readonly trimsAfter: boolean
}

/** Yields the actions of a template. Takes linear time, because the template comes from clients. */
function* actionsOf(template: string): Generator<Action> {
  let end = 0
  for (;;) {
    const start = template.indexOf('{{', end)
    const close = start === -1 ? -1 : template.indexOf('}}', start + 2)
    if (close === -1) return
    end = close + 2
    const inner = template.slice(start + 2, close)
    const trimsBefore = /^-\s/.test(inner)
    const trimsAfter = /\s-$/.test(inner)
    const body = inner.slice(trimsBefore ? 1 : 0, trimsAfter ? -1 : inner.length).trim()
    yield { start, end, whole: template.slice(start, end), body, trimsBefore, trimsAfter }
  }
}

/** True for a template of Go's text/template, in which fields begin with a dot; false for Jinja. */
export function isGoTemplate(template: string): boolean {
  if (template.includes('{%')) return false
  for (const { whole } of actionsOf(template))
    if (/\.[A-Z]/.test(whole.slice(2).split(/[}%]/, 1)[0] as string)) return true
  return false
}

/**
 * Compiles a Go template over `.System`, `.Prompt` and `.Response`, with `if`, `else` and `end`. Nearly all templates
 * use only these. The rendered prompt ends where `.Response` begins.
 *
 * Throws `MSV_UNSUPPORTED`, quoting the first unsupported action.
 */
export function goTemplate(template: string): (values: TemplateValues) => string {
  const root: Node[] = []
  const open: { readonly node: Exclude<Node, string | { field: Field }>; inElse: boolean }[] = []
  const add = (node: Node): void => {
    const at = open.at(-1)
    const into = at === undefined ? root : at.inElse ? at.node.no : at.node.yes
    into.push(node)
  }
  let position = 0
  let trimNext = false
  for (const { start, end, whole, body, trimsBefore, trimsAfter } of actionsOf(template)) {
    const text = template.slice(position, start)
    const left = trimNext ? text.trimStart() : text
    add(trimsBefore ? left.trimEnd() : left)
    position = end
    trimNext = trimsAfter
    if (body.startsWith('/*') && body.endsWith('*/')) continue
    const words = body.split(/\s+/)
    const [keyword = '', operand = ''] = words
    if (words.length === 1 && keyword.startsWith('.')) add({ field: fieldOf(keyword, whole) })
    else if (words.length === 2 && keyword === 'if') {
      if (open.length === MAX_NESTING)
        throw unsupported('template', `it nests more than ${MAX_NESTING} conditions, the limit`)
      const node = { when: fieldOf(operand, whole), yes: [], no: [] }
      add(node)
      open.push({ node, inElse: false })
    } else if (words.length === 1 && keyword === 'else' && open.at(-1)?.inElse === false) {
      ;(open.at(-1) as { inElse: boolean }).inElse = true
    } else if (words.length === 1 && keyword === 'end' && open.length > 0) open.pop()
    else throw notRendered(whole)
  }
  if (open.length > 0) throw unsupported('template', `an '{{ if }}' has no '{{ end }}'`)
  const rest = template.slice(position)
  root.push(trimNext ? rest.trimStart() : rest)
  return values => {
    const pieces: string[] = []
    render(root, values, pieces)
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    if (length > MAX_TEXT_LENGTH) {
      throw invalid(`'template' renders to a prompt of more than ${MAX_TEXT_LENGTH} characters`, 'template')
    }
    return pieces.join('')
  }
}

/** Renders nodes to `pieces`. Returns false once the position of the response is reached. */
function render(nodes: readonly Node[], values: TemplateValues, pieces: string[]): boolean {
  for (const node of nodes) {
    if (typeof node === 'string') pieces.push(node)
    else if ('when' in node) {
      const holds = node.when !== 'Response' && values[node.when] !== ''
      if (!render(holds ? node.yes : node.no, values, pieces)) return false
    } else if (node.field === 'Response') return false
    else pieces.push(values[node.field])
  }
  return true
}

function fieldOf(word: string, action: string): Field {
  const name = word.slice(1)
  if (!word.startsWith('.') || !FIELDS.includes(name)) throw notRendered(action)
  return name as Field
}

function notRendered(action: string): Error {
  return unsupported(
    'template',
    `'${action}' is not supported: Go templates may use .System, .Prompt, .Response, if, else and end; for more, send a Jinja template over 'messages'`
  )
}
