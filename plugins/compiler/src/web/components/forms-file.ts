import type { Form, FormField, Param } from '../../syntax/ast.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { type Build, EmittedModule, FORMS_MODULE } from '../../typescript/module.ts'
import { literal } from '../../typescript/names.ts'
import { kebabCase } from '../../web-ir/attribute-names.ts'
import { itemsOf, type WebModule } from '../web-module.ts'

/** Field rules that are HTML attributes, with the HTML names. */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  min: 'min',
  max: 'max',
  step: 'step',
  min_length: 'minLength',
  max_length: 'maxLength',
  pattern: 'pattern',
  accept: 'accept',
  placeholder: 'placeholder',
  default: 'defaultValue'
}

/** Rules that are input types of HTML. */
const KINDS: ReadonlySet<string> = new Set(['email', 'url', 'tel', 'password', 'date', 'time', 'search', 'color'])

/**
 * Generates `forms.tsx`: a component for each form, which passes the input to a function. null if there are no forms.
 */
export function formsFile({ module, hir, name: source }: WebModule, build: Build): EmittedFile | null {
  const forms = itemsOf(module, 'Form')
  if (forms.length === 0) return null
  const file = new EmittedModule(build)
  file.react('useState')
  file.imports.value('react', 'type FormEvent')
  const hasFiles = hir.types.some(({ name, is_builtin }) => name === 'File' && is_builtin === true)
  const texts = forms.map(form => formText(form, file, hasFiles))
  return {
    path: `${FORMS_MODULE.slice(2)}.tsx`,
    text: [header(source), `${file.imports.lines().join('\n')}\n`, ...texts].join('\n')
  }
}

/** `hasFiles`: `File` is the type of stored files, and not a type of the program. */
function formText(form: Form, file: EmittedModule, hasFiles: boolean): string {
  const fields = form.items.filter(item => item.kind === 'FormField').map(field => inputOf(field, hasFiles))
  const handler = form.items.find(item => item.kind === 'FormSubmit')?.handler
  const call = handler === undefined ? null : submitCall(handler.text, fields, file)
  if (handler !== undefined && call === null) {
    file.program.problem({
      code: 'web.not_in_browser',
      message: `a form cannot call \`${handler.text}\``,
      span: handler
    })
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
${fields.flatMap(sizeCheck).join('')}      ${call === null ? 'void data' : `await ${call}`}
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

/** How many files a field takes; null for a field of another type. */
type FileCount = 'one' | 'optional' | 'many' | null

interface Input {
  readonly field: FormField
  readonly name: string
  readonly label: string
  readonly files: FileCount
}

function inputOf(field: FormField, hasFiles: boolean): Input {
  const name = field.name.text
  return { field, name, label: textRule([field], 'label') ?? labelOf(name), files: hasFiles ? fileCount(field) : null }
}

function fileCount(field: FormField): FileCount {
  if (typeName(field) === 'File') return isOptional(field) ? 'optional' : 'one'
  const { type } = field
  const [item] = type.kind === 'NamedType' && type.path[0]?.text === 'List' ? type.args : []
  return item?.kind === 'NamedType' && item.path[0]?.text === 'File' ? 'many' : null
}

/** Returns the code that refuses files above the size of the rule `max_bytes`, before they are sent. */
function sizeCheck({ field, name, label, files }: Input): string[] {
  const limit = field.rules.find(rule => rule.name.text === 'max_bytes')?.args?.[0]
  if (files === null || limit?.kind !== 'Int') return []
  const message = literal(`${label}: a file has at most ${limit.digits} bytes`)
  return [
    `      for (const file of data.getAll(${literal(name)}))
        if (file instanceof globalThis.File && file.size > ${limit.digits}) throw new Error(${message})
`
  ]
}

function fieldText({ field, name, label, files }: Input): string {
  const kind = field.rules.find(rule => KINDS.has(rule.name.text))?.name.text
  const ofType = { int: 'number', float: 'number', bool: 'checkbox' }[typeName(field)] ?? 'text'
  const type = files === null ? (kind ?? ofType) : 'file'
  const isNeeded = files === 'one' || field.rules.some(rule => rule.name.text === 'required')
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
    ...(files === 'many' ? ['multiple'] : []),
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
function submitCall(name: string, fields: readonly Input[], file: EmittedModule): string | null {
  const entry = file.program.names.get(name)
  if (entry === undefined || entry.signature === null) return null
  const kind = file.program.kindOf(name)
  if (kind === 'server' || kind === 'view') return null
  const callee = kind === 'local' ? file.shared(name) : file.client(name)
  const params = entry.signature.params as readonly Param[]
  // Ints beyond 2^53 have all their digits in a bigint, which functions in the browser do not accept.
  const intOf = (text: string): string =>
    kind === 'local' ? `Number(${text})` : `${file.client('$int')}(String(${text}))`
  const args = params.map(param => {
    const field = fields.find(each => each.name === param.name.text)
    if (field !== undefined) return valueText(field, intOf)
    return `{ ${fields.map(each => `${each.name}: ${valueText(each, intOf)}`).join(', ')} }`
  })
  return `${callee}(${args.join(', ')})`
}

/** Returns code that converts form input to the type of a field. */
function valueText({ field, name: key, files }: Input, intOf: (text: string) => string): string {
  const name = literal(key)
  const given = `data.get(${name})`
  // An input without a file has one without a name.
  const isChosen = "each instanceof globalThis.File && each.name !== ''"
  switch (files) {
    case 'one':
      return `${given} as globalThis.File`
    case 'optional':
      return `data.getAll(${name}).find(each => ${isChosen}) as globalThis.File | undefined`
    case 'many':
      return `data.getAll(${name}).filter(each => ${isChosen}) as globalThis.File[]`
  }
  const orNull = (text: string): string => (isOptional(field) ? `${given} === '' ? null : ${text}` : text)
  switch (typeName(field)) {
    case 'bool':
      return `data.has(${name})`
    case 'int':
      return orNull(intOf(given))
    case 'float':
      return orNull(`Number(${given})`)
    default:
      return isOptional(field) ? `String(${given} ?? '') || null` : `String(${given} ?? '')`
  }
}

function isOptional({ type }: FormField): boolean {
  return type.kind === 'OptionalType' || (type.kind === 'NamedType' && type.path[0]?.text === 'Option')
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
