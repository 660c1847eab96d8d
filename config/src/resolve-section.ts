import { type ConfigProblem, errorMessage, parseSecretReference, type SecretReference } from '@svc/plugin-sdk'
import { type AliasUse, underOwnNames } from './aliases.ts'
import { fromText } from './env.ts'
import {
  isTable,
  lookup,
  merge,
  nest,
  originOf,
  type Path,
  type Table,
  UNSET,
  type View,
  valueAt,
  withoutUnset
} from './layers.ts'
import { didYouMean, problem } from './problem.ts'
import { type Declared, describe, isSecretAt, MASK } from './schema.ts'
import type { DeclaredSection } from './section.ts'
import { type ConfigSources, viewOf } from './sources.ts'
import { keyText } from './toml.ts'
import { check, type Issue } from './validate.ts'

/** A section with its values and problems. */
export interface ResolvedSection extends DeclaredSection {
  /** Values of each layer, lowest first, without rejected variables. */
  readonly views: readonly View[]
  /** Validated settings with defaults. References to secrets are not resolved. */
  readonly settings: Table
  readonly problems: readonly ConfigProblem[]
  readonly references: readonly SecretUse[]
}

export interface SecretUse {
  readonly path: Path
  readonly reference: SecretReference
}

interface EnvEntry {
  readonly path: Path
  readonly variable: string
  readonly value: unknown
  readonly declared: Declared
}

/** Merges the layers and the environment, validates the result and fills in defaults. */
export function resolveSection(section: DeclaredSection, sources: ConfigSources): ResolvedSection {
  const problems: ConfigProblem[] = []
  const own = sources.layers.map(layer => {
    const { view, ignored } = underOwnNames(viewOf(layer, section), section.declared)
    for (const use of ignored) problems.push(ignoredAlias(section, use, layer, view))
    return view
  })
  const files = own.filter(({ layer }) => layer !== 'set')
  const overrides = own.filter(({ layer }) => layer === 'set')
  const { env } = sources
  let entries = section.declared.flatMap(declared => readVariable(section, declared, env, problems))
  for (;;) {
    const views = [...files, ...(entries.length > 0 ? [envView(entries)] : []), ...overrides]
    const given = withoutUnset(views.map(view => view.table).reduce(merge, {}))
    let checked: ReturnType<typeof check>
    try {
      checked = check(section.schema, given, true)
    } catch (error) {
      const message = `the settings schema of ${section.label} cannot be used: ${errorMessage(error)}`
      problems.push({ severity: 'error', code: 'CFG_SCHEMA_INVALID', message, key: keyText(section.prefix) })
      return { ...section, views, settings: given, problems, references: [] }
    }
    // A variable with an invalid value is dropped, so that the value of a lower layer applies. Then all is checked
    // again.
    const rejected = new Map(
      checked.issues.flatMap(issue => {
        const origin = originOf(views, issue.path)?.view.layer
        const entry = entries.find(each => each.path.every((key, index) => issue.path[index] === key))
        return origin === 'environment' && entry !== undefined ? [[entry, issue] as const] : []
      })
    )
    if (rejected.size === 0) {
      problems.push(
        ...checked.issues.map(issue => toProblem(section, issue, views, checked.value, sources.dialect.file))
      )
      const references = findReferences(checked.value)
      problems.push(...rejectedReferences(section, references))
      return { ...section, views, settings: checked.value, problems, references }
    }
    for (const [entry, issue] of rejected) problems.push(envProblem(section, entry, issue.expected))
    entries = entries.filter(entry => !rejected.has(entry))
  }
}

function ignoredAlias(section: DeclaredSection, { setting, alias }: AliasUse, layer: View, own: View): ConfigProblem {
  const [key, other] = [setting.path, alias].map(path => keyText([...section.prefix, ...path])) as [string, string]
  const base = section.tables.findLast(table => lookup(layer.table, [...table, ...alias]) !== undefined)
  const place = layer.place([...(base ?? section.prefix), ...alias])
  const message = `${other} is another name of ${key}, which is set at ${own.place(setting.path).text}; it is ignored`
  return problem('warning', 'CFG_ALIAS_IGNORED', message, place, other, 'remove one of the two')
}

function readVariable(
  section: DeclaredSection,
  declared: Declared,
  env: Readonly<Record<string, string | undefined>>,
  problems: ConfigProblem[]
): EnvEntry[] {
  for (const variable of declared.env) {
    const text = env[variable]?.trim()
    if (text === undefined || (text === '' && declared.schema['x-env-empty'] !== 'clear')) continue
    const value = text === '' ? UNSET : fromText(text, declared.schema)
    const entry = { path: declared.path, variable, value, declared }
    if (value !== undefined) return [entry]
    problems.push(envProblem(section, { ...entry, value: text }, describe(declared.schema)))
  }
  return []
}

function envProblem(
  section: DeclaredSection,
  { variable, declared, path, value }: EnvEntry,
  expected: string
): ConfigProblem {
  const key = keyText([...section.prefix, ...path])
  const actual = show(value, declared.secret)
  const message = `environment variable ${variable} must be ${expected}, got ${actual}; ${key} keeps the value of the other layers`
  return problem('warning', 'CFG_ENV_INVALID', message, { text: variable }, key, `correct or unset ${variable}`)
}

function envView(entries: readonly EnvEntry[]): View {
  return {
    layer: 'environment',
    table: entries.map(entry => nest(entry.path, entry.value)).reduce(merge),
    place(path) {
      const own = entries.find(entry => entry.path.every((key, index) => index >= path.length || path[index] === key))
      return { text: own?.variable ?? 'environment' }
    }
  }
}

function toProblem(
  section: DeclaredSection,
  issue: Issue,
  views: readonly View[],
  value: Table,
  file: string
): ConfigProblem {
  const key = keyText([...section.prefix, ...issue.path])
  if (issue.kind === 'missing') {
    const env = section.declared.find(declared => keyText(declared.path) === keyText(issue.path))?.env[0]
    const hint = `set ${key} in ${file}${env === undefined ? '' : `, or ${env} in the environment`}`
    return problem(
      'error',
      'CFG_VALUE_MISSING',
      `${key} is required but not set; expected ${issue.expected}`,
      undefined,
      key,
      hint
    )
  }
  const place = originOf(views, issue.path)?.view.place(issue.path)
  const from = place === undefined || place.file !== undefined ? '' : ` (${place.text})`
  if (issue.kind === 'unknown') {
    const neighbours = issue.path.length === 1 ? section.neighbours : []
    const hint = didYouMean(issue.path.at(-1) ?? '', [...issue.known, ...neighbours])
    return problem('error', 'CFG_KEY_UNKNOWN', `${key} is not a setting${from}`, place, key, hint)
  }
  const actual = show(valueAt(value, issue.path), isSecretAt(section.schema, issue.path))
  const message = `${key} must be ${issue.expected}, got ${actual}${from}`
  return problem('error', 'CFG_VALUE_INVALID', message, place, key)
}

function rejectedReferences(section: DeclaredSection, references: readonly SecretUse[]): ConfigProblem[] {
  const rejected = references.filter(({ reference }) => section.refusesSecretOf?.(reference.backend) === true)
  return rejected.map(({ path }) => {
    const key = keyText([...section.prefix, ...path])
    const message = `${key} is a secret reference, but ${section.owner} starts before secrets can be resolved`
    return problem('error', 'CFG_SECRET_FORBIDDEN', message, undefined, key, 'use an environment variable')
  })
}

function show(value: unknown, secret: boolean): string {
  if (Array.isArray(value)) return 'a list'
  if (isTable(value)) return 'a table'
  if (secret) return MASK
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

function findReferences(value: unknown, path: Path = []): readonly SecretUse[] {
  if (typeof value === 'string') {
    const reference = parseSecretReference(value)
    return reference === null ? [] : [{ path, reference }]
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => findReferences(item, [...path, String(index)]))
  return isTable(value) ? Object.entries(value).flatMap(([key, item]) => findReferences(item, [...path, key])) : []
}
