import { unsupported } from '../unsupported-fields.ts'

/** What a template of the format can show of a request to `/api/generate`. */
export interface TemplateValues {
  readonly System: string
  readonly Prompt: string
}

type Field = keyof TemplateValues | 'Response'
type Node = string | { readonly field: Field } | { readonly when: Field; readonly yes: Node[]; readonly no: Node[] }

const ACTION = /\{\{(-\s)?([\s\S]*?)(\s-)?\}\}/g
const FIELDS: readonly string[] = ['System', 'Prompt', 'Response']

/** Whether a template is one of Go's text/template, in which fields begin with a dot, and not of Jinja. */
export function isGoTemplate(template: string): boolean {
  return /\{\{-?\s*(?:(?:if|range|with|else if)\s|\$)?[^}%]*\.[A-Z]/.test(template) && !template.includes('{%')
}

/**
 * Reads a template of Go over `.System`, `.Prompt` and `.Response`, with `if`, `else` and `end`, which is what nearly all
 * of them consist of. The prompt ends where the response would stand.
 *
 * Throws `MSV_UNSUPPORTED`, quoting the first action that is none of these.
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
  for (const match of template.matchAll(ACTION)) {
    const [whole, trimsBefore, action = '', trimsBehind] = match
    const text = template.slice(position, match.index)
    const left = trimNext ? text.trimStart() : text
    add(trimsBefore === undefined ? left : left.trimEnd())
    position = match.index + whole.length
    trimNext = trimsBehind !== undefined
    const words = action.trim().split(/\s+/)
    const [keyword = '', operand = ''] = words
    if (/^\/\*[\s\S]*\*\/$/.test(action.trim())) continue
    if (words.length === 1 && keyword.startsWith('.')) add({ field: fieldOf(keyword, whole) })
    else if (words.length === 2 && keyword === 'if') {
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
    return pieces.join('')
  }
}

/** False once the place of the response has been reached. */
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
    `'${action}' is not rendered: templates of Go may have .System, .Prompt, .Response, if, else and end; for more, send a Jinja template over 'messages'`
  )
}
