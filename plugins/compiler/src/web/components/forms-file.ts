import type { Hir } from '@svc/contracts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { type Build, EmittedModule, FORMS_MODULE } from '../../typescript/module.ts'
import { literal } from '../../typescript/names.ts'
import { isNamed, itemOf } from '../../typescript/value-types.ts'
import { kebabCase } from '../../web-ir/attribute-names.ts'
import { viewsOf, type WebModule } from '../web-module.ts'

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
export function formsFile({ pages, hir, name: source }: WebModule, build: Build): EmittedFile | null {
  const forms = viewsOf(pages, 'Form')
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
function formText(form: Hir.Form, file: EmittedModule, hasFiles: boolean): string {
  const { submit, redirect } = form
  const { name } = form.name
  const fields = form.fields.map(field => inputOf(field, hasFiles))
  const call = submit === null ? null : submitCall(submit.name, fields, file)
  if (submit !== null && call === null) {
    file.program.report('web.not_in_browser', `a form cannot call \`${submit.name}\``, submit)
  }
  const ended = redirect === null ? 'form.reset()' : `window.location.assign(${literal(redirect)})`
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
        ${jsxText(form.fields.map(field => textRule(field, 'submit')).find(text => text !== null) ?? 'Submit')}
      </button>
    </form>
  )
}
`
}

/** How many files a field takes; null for a field of another type. */
type FileCount = 'one' | 'optional' | 'many' | null

interface Input {
  readonly field: Hir.FormField
  readonly name: string
  readonly label: string
  readonly files: FileCount
}

function inputOf(field: Hir.FormField, hasFiles: boolean): Input {
  const { name } = field
  return { field, name, label: textRule(field, 'label') ?? labelOf(name), files: hasFiles ? fileCount(field) : null }
}

function fileCount({ type }: Hir.FormField): FileCount {
  if (isNamed(valueTypeOf(type), 'File')) return isNamed(type, 'Option') ? 'optional' : 'one'
  return isNamed(type, 'List') && isNamed(itemOf(type), 'File') ? 'many' : null
}

/** Returns the code that refuses files above the size of the rule `max_bytes`, before they are sent. */
function sizeCheck({ field, name, label, files }: Input): string[] {
  const limit = field.rules.find(rule => rule.name === 'max_bytes')?.value
  if (files === null || limit?.kind !== 'Int') return []
  const message = literal(`${label}: a file has at most ${limit.value} bytes`)
  return [
    `      for (const file of data.getAll(${literal(name)}))
        if (file instanceof globalThis.File && file.size > ${limit.value}) throw new Error(${message})
`
  ]
}

function fieldText({ field, name, label, files }: Input): string {
  const kind = field.rules.find(rule => KINDS.has(rule.name))?.name
  const value = valueTypeOf(field.type)
  const ofType = isNamed(value, 'int', 'float') ? 'number' : isNamed(value, 'bool') ? 'checkbox' : 'text'
  const type = files === null ? (kind ?? ofType) : 'file'
  const isNeeded = files === 'one' || field.rules.some(rule => rule.name === 'required')
  const attributes = field.rules.flatMap(({ name: rule, value }) => {
    const attribute = ATTRIBUTES[rule]
    return attribute === undefined || value === null ? [] : [`${attribute}={${literalText(value)}}`]
  })
  // Types with fractions need a step that allows them.
  const step = isNamed(value, 'float') && !attributes.some(each => each.startsWith('step')) ? ['step="any"'] : []
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

function literalText(value: Hir.Literal): string {
  if (value.kind === 'Str') return literal(value.value)
  return value.kind === 'Decimal' ? value.digits : String(value.value)
}

/** Returns the call of the function that receives the input; null if a browser cannot call it. */
function submitCall(name: string, fields: readonly Input[], file: EmittedModule): string | null {
  const params = file.program.paramsOf(name)
  if (params === null) return null
  const kind = file.program.kindOf(name)
  if (kind === 'server' || kind === 'view') return null
  const callee = kind === 'local' ? file.shared(name) : file.client(name)
  const intOf = (text: string): string =>
    kind === 'local' ? `${file.helper('typed_int')}(String(${text}))` : `${file.client('$int')}(String(${text}))`
  const args = params.map(param => {
    const field = fields.find(each => each.name === param)
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
  const isOptional = isNamed(field.type, 'Option')
  const value = valueTypeOf(field.type)
  const orNull = (text: string): string => (isOptional ? `${given} === '' ? null : ${text}` : text)
  if (isNamed(value, 'bool')) return `data.has(${name})`
  if (isNamed(value, 'int')) return orNull(intOf(given))
  if (isNamed(value, 'float')) return orNull(`Number(${given})`)
  return isOptional ? `String(${given} ?? '') || null` : `String(${given} ?? '')`
}

/** Returns the type inside of an Option; other types as they are. */
function valueTypeOf(type: Hir.Type): Hir.Type {
  return isNamed(type, 'Option') ? itemOf(type) : type
}

function textRule({ rules }: Hir.FormField, name: string): string | null {
  const value = rules.find(rule => rule.name === name)?.value
  return value?.kind === 'Str' ? value.value : null
}

/** Converts a name to a label: `first_name` to `First name`. */
function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function jsxText(text: string): string {
  return /[{}<>&\n]|^\s|\s$/.test(text) ? `{${literal(text)}}` : text
}
