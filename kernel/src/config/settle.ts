import { type ConfigProblem, parseSecretReference, type SecretReference } from '@svc/contracts'
import type { JsonSchema } from '@svc/plugin-sdk'
import { RESERVED_KEYS } from '../host/kernel-settings.ts'
import { fromText } from './env.ts'
import {
  isTable,
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
import { keyText } from './toml.ts'
import { check, type Issue } from './validate.ts'

/** One schema and where its values stand: the kernel, a plugin's settings or the policy for a plugin. */
export interface Owner {
  /** Name of the plugin, or `kernel`. */
  readonly name: string
  readonly kind: 'kernel' | 'policy' | 'settings'
  /** Path of the table that holds it, as documented. */
  readonly prefix: Path
  readonly schema: JsonSchema
  readonly declared: readonly Declared[]
}

/** An owner with its values. */
export interface Settled extends Owner {
  /** What each layer says, lowest first, without variables that were refused. */
  readonly views: readonly View[]
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

/** Merges what the layers and the environment say, validates it and fills in defaults. */
export function settle(
  owner: Owner,
  files: readonly View[],
  env: Readonly<Record<string, string | undefined>>,
  overrides: readonly View[]
): Settled {
  const problems: ConfigProblem[] = []
  let entries = owner.declared.flatMap(declared => readVariable(owner, declared, env, problems))
  for (;;) {
    const views = [...files, ...(entries.length > 0 ? [envView(entries)] : []), ...overrides]
    const given = withoutUnset(views.map(view => view.table).reduce(merge, {}))
    let checked: ReturnType<typeof check>
    try {
      checked = check(owner.schema, given, true)
    } catch (error) {
      const message = `the settings schema of plugin ${owner.name} cannot be used: ${(error as Error).message}`
      problems.push({ severity: 'error', code: 'CFG_SCHEMA_INVALID', message, key: keyText(owner.prefix) })
      return { ...owner, views, settings: given, problems, references: [] }
    }
    // A variable that breaks a rule is put aside and the rest judged again: the layers below it may be right.
    const refused = new Map(
      checked.issues.flatMap(issue => {
        const origin = originOf(views, issue.path)?.view.layer
        const entry = entries.find(each => each.path.every((key, index) => issue.path[index] === key))
        return origin === 'environment' && entry !== undefined ? [[entry, issue] as const] : []
      })
    )
    if (refused.size === 0) {
      problems.push(...checked.issues.map(issue => toProblem(owner, issue, views, checked.value)))
      return { ...owner, views, settings: checked.value, problems, references: findReferences(checked.value) }
    }
    for (const [entry, issue] of refused) problems.push(envProblem(owner, entry, issue.expected))
    entries = entries.filter(entry => !refused.has(entry))
  }
}

function readVariable(
  owner: Owner,
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
    problems.push(envProblem(owner, { ...entry, value: text }, describe(declared.schema)))
  }
  return []
}

function envProblem(owner: Owner, { variable, declared, path, value }: EnvEntry, expected: string): ConfigProblem {
  const key = keyText([...owner.prefix, ...path])
  const actual = show(value, declared.secret)
  const message = `environment variable ${variable} must be ${expected}, got ${actual}; ${key} keeps its previous value`
  return problem('warning', 'CFG_ENV_INVALID', message, { text: variable }, key)
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

function toProblem(owner: Owner, issue: Issue, views: readonly View[], value: Table): ConfigProblem {
  const key = keyText([...owner.prefix, ...issue.path])
  if (issue.kind === 'missing') {
    const env = owner.declared.find(declared => keyText(declared.path) === keyText(issue.path))?.env[0]
    const hint = `set ${key} in svc.toml${env === undefined ? '' : `, or ${env} in the environment`}`
    return problem(
      'error',
      'CFG_VALUE_MISSING',
      `${key} is not given; expected ${issue.expected}`,
      undefined,
      key,
      hint
    )
  }
  const place = originOf(views, issue.path)?.view.place(issue.path)
  const from = place === undefined || place.file !== undefined ? '' : ` (${place.text})`
  if (issue.kind === 'unknown') {
    const kernels = owner.kind === 'settings' && issue.path.length === 1 ? RESERVED_KEYS : []
    const hint = didYouMean(issue.path.at(-1) ?? '', [...issue.known, ...kernels])
    return problem('error', 'CFG_KEY_UNKNOWN', `${key} is not a setting${from}`, place, key, hint)
  }
  const actual = show(valueAt(value, issue.path), isSecretAt(owner.schema, issue.path))
  const message = `${key} must be ${issue.expected}, got ${actual}${from}`
  return problem('error', 'CFG_VALUE_INVALID', message, place, key)
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
