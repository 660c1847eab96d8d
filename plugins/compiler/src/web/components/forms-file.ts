import type { Form, FormField, Param } from '../../syntax/ast.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import { literal } from '../../typescript/names.ts'
import { kebabCase } from '../../web-ir/attribute-names.ts'
import type { WebTree } from '../../web-ir/tree.ts'
import type { EmittedFile } from '../emitted-file.ts'
import { header } from '../header.ts'
import { EmittedModule, FORMS_MODULE } from '../typescript/emitted-module.ts'
import { itemsOf, type WebModule } from '../web-module.ts'

/** Field rules that are HTML attributes, with the HTML names. */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  min: 'min',
  max: 'max',
  step: 'step',
  min_length: 'minLength',
  max_length: 'maxLength',
  pattern: 'pattern',
  placeholder: 'placeholder',
  default: 'defaultValue'
}

/** Rules that are input types of HTML. */
const KINDS: ReadonlySet<string> = new Set(['email', 'url', 'tel', 'password', 'date', 'time', 'search', 'color'])

/**
 * Generates `forms.tsx`: a component for each form, which passes the input to a function. null if there are no forms.
 */
export function formsFile({ module, name: source }: WebModule, views: WebTree): EmittedFile | null {
  const forms = itemsOf(module, 'Form')
  if (forms.length === 0) return null
  const { program, types, helpers, shared } = views
  const file = new EmittedModule(program, types, { helpers, shared })
  file.react('useState')
  file.imports.value('react', 'type FormEvent')
  const texts = forms.map(form => formText(form, file))
  return {
    path: `${FORMS_MODULE.slice(2)}.tsx`,
    text: [header(source), `${file.imports.lines().join('\n')}\n`, ...texts].join('\n')
  }
}

function formText(form: Form, file: EmittedModule): string {
  const fields = form.items.filter(item => item.kind === 'FormField')
  const handler = form.items.find(item => item.kind === 'FormSubmit')?.handler
  const call = handler === undefined ? null : submitCall(handler.text, fields, file)
  if (handler !== undefined && call === null) {
    file.program.report('web.not_in_browser', `a form cannot call \`${handler.text}\``, handler)
  }
  const redirect = form.items.find(item => item.kind === 'FormRedirect')?.path.value
  const ended = redirect === undefined ? 'form.reset()' : `window.location.assign(${literal(redirect)})`
  const name = form.name.text
  return `export function ${name}() {
  const [problem, set_problem] = useState<string | null>(null)
  const [is_busy, set_busy] = useState(false)

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const form = event.currentTarget
    const data = new FormData(form)
    set_problem(null)
    set_busy(true)
    try {
      ${call === null ? 'void data' : `await ${call}`}
      ${ended}
    } catch (error) {
      set_problem(error instanceof Error ? error.message : String(error))
    } finally {
      set_busy(false)
    }
  }

  return (
    <form className="${kebabCase(name)}" onSubmit={submit}>
${fields.map(field => fieldText(field)).join('\n')}
      {problem !== null && <p role="alert">{problem}</p>}
      <button type="submit" disabled={is_busy}>
        ${jsxText(textRule(form.items, 'submit') ?? 'Submit')}
      </button>
    </form>
  )
}
`
}

function fieldText(field: FormField): string {
  const name = field.name.text
  const label = textRule([field], 'label') ?? labelOf(name)
  const kind = field.rules.find(rule => KINDS.has(rule.name.text))?.name.text
  const type = kind ?? { int: 'number', float: 'number', bool: 'checkbox' }[typeName(field)] ?? 'text'
  const isNeeded = field.rules.some(rule => rule.name.text === 'required')
  const attributes = field.rules.flatMap(({ name: rule, args }) => {
    const attribute = ATTRIBUTES[rule.text]
    const value = args?.[0]
    if (attribute === undefined || value === undefined) return []
    return [attributeText(attribute, value)]
  })
  // Types with fractions need a step that allows them.
  const step = typeName(field) === 'float' && !attributes.some(each => each.startsWith('step')) ? ['step="any"'] : []
  const input = [
    `name=${JSON.stringify(name)}`,
    `type="${type}"`,
    ...(isNeeded ? ['required'] : []),
    ...step,
    ...attributes
  ]
  return `      <label>\n        ${jsxText(label)}\n        <input ${input.join(' ')} />\n      </label>`
}

function attributeText(name: string, value: Expression): string {
  switch (value.kind) {
    case 'Int':
    case 'Float':
      return `${name}={${value.digits}}`
    case 'String':
      return `${name}={${literal(value.value)}}`
    default:
      return `${name}={${value.kind === 'Bool' ? String(value.value) : 'undefined'}}`
  }
}

/** Returns the call of the function that receives the input; null if a browser cannot call it. */
function submitCall(name: string, fields: readonly FormField[], file: EmittedModule): string | null {
  const entry = file.program.names.get(name)
  if (entry === undefined || entry.signature === null) return null
  const kind = file.program.kindOf(entry)
  if (kind === 'server' || kind === 'view') return null
  const callee = kind === 'local' ? file.shared(name) : file.client(name)
  const params = entry.signature.params as readonly Param[]
  const args = params.map(param => {
    const field = fields.find(each => each.name.text === param.name.text)
    if (field !== undefined) return valueText(field)
    return `{ ${fields.map(each => `${each.name.text}: ${valueText(each)}`).join(', ')} }`
  })
  return `${callee}(${args.join(', ')})`
}

/** Returns code that converts form input to the type of a field. */
function valueText(field: FormField): string {
  const name = literal(field.name.text)
  const isOptional =
    field.type.kind === 'OptionalType' || (field.type.kind === 'NamedType' && field.type.path[0]?.text === 'Option')
  switch (typeName(field)) {
    case 'bool':
      return `data.has(${name})`
    case 'int':
    case 'float':
      return isOptional ? `data.get(${name}) === '' ? null : Number(data.get(${name}))` : `Number(data.get(${name}))`
    default:
      return isOptional ? `String(data.get(${name}) ?? '') || null` : `String(data.get(${name}) ?? '')`
  }
}

function typeName({ type }: FormField): string {
  const inner = type.kind === 'OptionalType' ? type.inner : type
  if (inner.kind !== 'NamedType') return ''
  const name = inner.path.at(-1)?.text ?? ''
  const [arg] = inner.args
  return name === 'Option' && arg?.kind === 'NamedType' ? (arg.path[0]?.text ?? '') : name
}

function textRule(items: Form['items'], name: string): string | null {
  for (const item of items) {
    if (item.kind !== 'FormField') continue
    const value = item.rules.find(rule => rule.name.text === name)?.args?.[0]
    if (value?.kind === 'String') return value.value
  }
  return null
}

/** Converts a name to a label: `first_name` to `First name`. */
function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function jsxText(text: string): string {
  return /[{}<>&\n]|^\s|\s$/.test(text) ? `{${literal(text)}}` : text
}
