import { type OutputUnit, Validator } from '@cfworker/json-schema'
import type { JsonSchema } from '@svc/plugin-sdk'
import { useId, useState } from 'preact/hooks'
import { titleOf } from '../format.ts'

export type FormValue = Record<string, unknown>

interface FieldsProps {
  readonly schema: JsonSchema
  readonly value: FormValue
  readonly onChange: (value: FormValue) => void
  /** Messages by dotted field. */
  readonly problems: Readonly<Record<string, string>>
  /** Dotted path of this object. */
  readonly at?: string
  /** Only these fields; default: all. */
  readonly only?: readonly string[] | undefined
}

/** Text of a field that takes JSON and has none: a form with one is not sent. */
class NotJson {
  readonly text: string
  readonly reason: string

  constructor(text: string, reason: string) {
    this.text = text
    this.reason = reason
  }

  toJSON(): string {
    return this.text
  }
}

/** Returns messages by dotted field for a value that does not match its schema. Empty if it matches. */
export function problemsOf(schema: JsonSchema, value: FormValue): Readonly<Record<string, string>> {
  const unreadable = Object.fromEntries(unreadableFields(value, ''))
  if (Object.keys(unreadable).length > 0) return unreadable
  const { valid, errors } = new Validator(schema as never, '2020-12', false).validate(value)
  if (valid) return {}
  const messages: Record<string, string> = {}
  // The innermost error of a field says most.
  for (const error of errors) {
    if (WRAPPERS.has(error.keyword)) continue
    const field = fieldOf(error)
    messages[field] ??= error.error.replace(/^Property "[^"]*" /, '').replace(/^Instance /, '')
  }
  return messages
}

function unreadableFields(value: FormValue, at: string): [field: string, reason: string][] {
  return Object.entries(value).flatMap(([name, field]): [string, string][] => {
    if (field instanceof NotJson) return [[`${at}${name}`, field.reason]]
    const isObject = typeof field === 'object' && field !== null && !Array.isArray(field)
    return isObject ? unreadableFields(field as FormValue, `${at}${name}.`) : []
  })
}

const WRAPPERS: ReadonlySet<string> = new Set(['properties', 'items', 'anyOf', 'allOf', 'additionalProperties'])

function fieldOf({ instanceLocation, keyword, error }: OutputUnit): string {
  const path = instanceLocation.replace(/^#\/?/, '').split('/').filter(Boolean).map(decodeURIComponent)
  if (keyword === 'required') path.push(/"([^"]*)"/.exec(error)?.[1] ?? '')
  return path.join('.')
}

/** Sends the form of a text area on Ctrl+Enter; Enter only starts a new line. */
export function submitOnCtrlEnter({ key, target, ctrlKey, metaKey }: KeyboardEvent): void {
  if (key === 'Enter' && (ctrlKey || metaKey) && target instanceof HTMLTextAreaElement) target.form?.requestSubmit()
}

/** Fields for the properties of an object schema. */
export function SchemaFields({ schema, value, onChange, problems, at = '', only }: FieldsProps) {
  const properties = Object.entries((schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>)
  const required = (schema.required ?? []) as readonly string[]
  return (
    <>
      {properties
        .filter(([name]) => only === undefined || only.includes(name))
        .map(([name, field]) => {
          const path = at === '' ? name : `${at}.${name}`
          const change = (next: unknown): void => {
            const { [name]: _old, ...rest } = value
            onChange(next === undefined ? rest : { ...rest, [name]: next })
          }
          return (
            <Field
              key={name}
              name={name}
              path={path}
              schema={field}
              required={required.includes(name)}
              value={value[name]}
              onChange={change}
              problems={problems}
            />
          )
        })}
    </>
  )
}

interface FieldProps {
  readonly name: string
  readonly path: string
  readonly schema: JsonSchema
  readonly required: boolean
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly problems: Readonly<Record<string, string>>
}

function Field({ name, path, schema, required, value, onChange, problems }: FieldProps) {
  const id = useId()
  const problem = problems[path]
  const { type, description } = typeOf(schema)
  if (type === 'object' && hasProperties(schema))
    return (
      <fieldset class="card form">
        <legend class="label">{titleOf(name)}</legend>
        <SchemaFields
          schema={schema}
          value={(value ?? {}) as FormValue}
          onChange={onChange}
          problems={problems}
          at={path}
        />
      </fieldset>
    )
  const help = `${id}-help`
  const shared = {
    id,
    name: path,
    'aria-describedby': help,
    'aria-invalid': problem !== undefined,
    required
  }
  return (
    <div class="field">
      <label for={id}>
        {titleOf(name)}
        {required ? <span class="dim"> (required)</span> : null}
      </label>
      <Control schema={schema} value={value} onChange={onChange} attributes={shared} />
      <div id={help} class="small dim">
        {description}
        {problem === undefined ? null : <div class="problem">{problem}</div>}
      </div>
    </div>
  )
}

interface ControlProps {
  readonly schema: JsonSchema
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly attributes: {
    readonly id: string
    readonly name: string
    readonly required: boolean
    readonly 'aria-describedby': string
    readonly 'aria-invalid': boolean
  }
}

function Control({ schema, value, onChange, attributes }: ControlProps) {
  const { type, choices, fallback } = typeOf(schema)
  if (choices !== undefined)
    return (
      <select
        {...attributes}
        value={value === undefined ? '' : String(value)}
        onChange={({ currentTarget }) =>
          onChange(currentTarget.value === '' ? undefined : choices.find(each => String(each) === currentTarget.value))
        }
      >
        <option value="">{fallback === undefined ? '' : `default: ${String(fallback)}`}</option>
        {choices.map(choice => (
          <option key={String(choice)} value={String(choice)}>
            {String(choice)}
          </option>
        ))}
      </select>
    )
  if (type === 'boolean')
    return (
      <select
        {...attributes}
        value={value === undefined ? '' : String(value)}
        onChange={({ currentTarget: { value: next } }) => onChange(next === '' ? undefined : next === 'true')}
      >
        <option value="">{fallback === undefined ? '' : `default: ${fallback === true ? 'yes' : 'no'}`}</option>
        <option value="true">yes</option>
        <option value="false">no</option>
      </select>
    )
  if (type === 'integer' || type === 'number')
    return (
      <input
        {...attributes}
        type="number"
        step={type === 'integer' ? 1 : 'any'}
        value={value === undefined ? '' : String(value)}
        placeholder={fallback === undefined ? '' : String(fallback)}
        onInput={({ currentTarget: { value: next } }) => onChange(next === '' ? undefined : Number(next))}
      />
    )
  if (type === 'string') {
    const text = typeof value === 'string' ? value : ''
    const change = ({ currentTarget: { value: next } }: { currentTarget: { value: string } }): void =>
      onChange(next === '' && !attributes.required ? undefined : next)
    if (schema['x-secret'] === true)
      return <input {...attributes} type="password" autocomplete="off" value={text} onInput={change} />
    if (isLong(schema)) return <textarea {...attributes} rows={3} value={text} onInput={change} />
    const placeholder = fallback === undefined ? '' : String(fallback)
    return <input {...attributes} type="text" value={text} placeholder={placeholder} onInput={change} />
  }
  if (isTextOrNumber(schema))
    return (
      <input
        {...attributes}
        type="text"
        value={value === undefined ? '' : String(value)}
        placeholder={fallback === undefined ? '' : String(fallback)}
        onInput={({ currentTarget: { value: next } }) =>
          onChange(next === '' ? undefined : String(Number(next)) === next ? Number(next) : next)
        }
      />
    )
  const item = type === 'array' ? simpleItem(schema) : null
  if (item !== null) return <ListField item={item} value={value} onChange={onChange} attributes={attributes} />
  const example = fallback === undefined || isEmptyList(fallback) ? exampleOf(schema) : fallback
  return <JsonField value={value} onChange={onChange} attributes={attributes} fallback={example} />
}

/** List of texts or numbers, one on each line. */
function ListField({
  item,
  value,
  onChange,
  attributes
}: Omit<ControlProps, 'schema'> & { readonly item: 'string' | 'number' }) {
  const [text, setText] = useState(Array.isArray(value) ? value.join('\n') : '')
  const change = (next: string): void => {
    setText(next)
    const lines = next.split('\n').flatMap(line => (line.trim() === '' ? [] : [line.trim()]))
    if (lines.length === 0) onChange(undefined)
    // A text that is no number is kept, so that the check of the input names it.
    else onChange(item === 'string' ? lines : lines.map(line => (Number.isFinite(Number(line)) ? Number(line) : line)))
  }
  return (
    <textarea
      {...attributes}
      rows={2}
      value={text}
      placeholder="One on each line"
      spellcheck={false}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  )
}

const SIMPLE: ReadonlySet<string> = new Set(['string', 'integer', 'number'])

/** Returns how the lines of an array's items are read, if each item fits on a line; null otherwise. */
function simpleItem(schema: JsonSchema): 'string' | 'number' | null {
  const item = innerSchema((innerSchema(schema).items ?? {}) as JsonSchema)
  const types = (Array.isArray(item.anyOf) ? (item.anyOf as JsonSchema[]) : [item]).map(each => typeOf(each).type)
  if (!types.every(type => SIMPLE.has(type))) return null
  return types.every(type => type === 'string') ? 'string' : 'number'
}

/** Returns whether a value is either a text or a number, such as an id in two notations. */
function isTextOrNumber(schema: JsonSchema): boolean {
  const { anyOf } = innerSchema(schema)
  if (!Array.isArray(anyOf)) return false
  const types = (anyOf as JsonSchema[]).map(each => typeOf(each).type)
  return types.includes('string') && types.every(type => SIMPLE.has(type)) && !types.every(type => type === 'string')
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Returns a value of the form that a schema describes, as a hint; undefined if the schema does not say. */
function exampleOf(schema: JsonSchema, depth = 0): unknown {
  const inner = innerSchema(schema)
  const { type, choices, fallback } = typeOf(schema)
  if (choices !== undefined) return choices[0]
  if (fallback !== undefined && !isEmptyList(fallback)) return fallback
  if (type === 'string') return '…'
  if (type === 'integer' || type === 'number') return 1
  if (type === 'boolean') return true
  if (depth > 2) return undefined
  if (type === 'array') {
    const item = exampleOf((inner.items ?? {}) as JsonSchema, depth + 1)
    return item === undefined ? undefined : [item]
  }
  const properties = Object.entries((inner.properties ?? {}) as Readonly<Record<string, JsonSchema>>)
  if (properties.length === 0) return undefined
  return Object.fromEntries(properties.map(([name, each]) => [name, exampleOf(each, depth + 1)]))
}

function JsonField({
  value,
  onChange,
  attributes,
  fallback
}: Omit<ControlProps, 'schema'> & { readonly fallback: unknown }) {
  const [text, setText] = useState(
    value === undefined ? '' : value instanceof NotJson ? value.text : JSON.stringify(value, null, 2)
  )
  const change = (next: string): void => {
    setText(next)
    onChange(parsedJson(next))
  }
  return (
    <>
      <textarea
        {...attributes}
        rows={3}
        value={text}
        placeholder={fallback === undefined ? 'JSON' : JSON.stringify(fallback)}
        spellcheck={false}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      {value instanceof NotJson && !attributes['aria-invalid'] ? <div class="problem">{value.reason}</div> : null}
    </>
  )
}

/** Returns the value of a JSON text; undefined if it is empty. */
function parsedJson(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    return new NotJson(text, `not valid JSON: ${(error as Error).message}; write a text in quotes`)
  }
}

interface FieldType {
  readonly type: string
  readonly choices: readonly unknown[] | undefined
  readonly description: string
  readonly fallback: unknown
}

function typeOf(schema: JsonSchema): FieldType {
  const description = typeof schema.description === 'string' ? schema.description : ''
  const inner = innerSchema(schema)
  const choices = Array.isArray(inner.enum)
    ? (inner.enum as unknown[])
    : inner.const === undefined
      ? undefined
      : [inner.const]
  return {
    type: typeof inner.type === 'string' ? inner.type : 'json',
    choices,
    description,
    fallback: schema.default
  }
}

/** Returns the schema without the choice of null. */
function innerSchema(schema: JsonSchema): JsonSchema {
  if (!Array.isArray(schema.anyOf)) return schema
  const [only, ...others] = (schema.anyOf as JsonSchema[]).filter(option => option.type !== 'null')
  return only !== undefined && others.length === 0 ? only : schema
}

function hasProperties(schema: JsonSchema): boolean {
  return Object.keys((schema.properties as object | undefined) ?? {}).length > 0
}

/** Texts without a short limit, format or pattern get several lines. */
function isLong({ maxLength, format, pattern }: JsonSchema): boolean {
  return typeof maxLength === 'number' && maxLength > 1_000 && format === undefined && pattern === undefined
}
