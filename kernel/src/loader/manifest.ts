import { builtInExposure, defined, type OperationDescriptor, type PluginManifest, SDK_VERSION } from '@svc/plugin-sdk'
import { loaderErrors } from './errors.ts'

/** Pattern of plugin names, which are also TOML keys, command-line words and parts of metric names. */
export const PLUGIN_NAME = /^[a-z][a-z0-9-]{0,63}$/
const SERVICE_ID = /^\S+@\d+$/

/** Returns the problem of a value, or undefined if it is valid. */
type Rule = (value: unknown) => string | undefined

const rule =
  (test: (value: unknown) => boolean, expected: string): Rule =>
  value =>
    test(value) ? undefined : `must be ${expected}`

const text = rule(value => typeof value === 'string', 'a string')
const word = rule(value => typeof value === 'string' && /^\S+$/.test(value), 'a string without spaces')
const words = rule(value => typeof value === 'string' && /^\S+( \S+)*$/.test(value), 'words separated by single spaces')
const flag = rule(value => typeof value === 'boolean', 'true or false')
const count = rule(value => Number.isInteger(value) && (value as number) >= 0, 'a whole number')
const table = rule(isTable, 'an object')
const serviceId = rule(value => typeof value === 'string' && SERVICE_ID.test(value), 'an id such as name@1')
const oneOf = (...values: readonly unknown[]): Rule => rule(value => values.includes(value), values.join(' or '))

function list(each: Rule): Rule {
  return value => {
    if (!Array.isArray(value)) return 'must be an array'
    return firstOf(value.map((item, index) => prefixed(`[${index}]`, each(item))))
  }
}

function record(fields: Readonly<Record<string, Rule>>): Rule {
  return value => {
    if (!isTable(value)) return 'must be an object'
    return firstOf(Object.entries(fields).map(([key, field]) => prefixed(`.${key}`, field(value[key]))))
  }
}

/** Applies each rule if the earlier ones hold. */
function every(...rules: readonly Rule[]): Rule {
  return value => {
    for (const each of rules) {
      const problem = each(value)
      if (problem !== undefined) return problem
    }
    return undefined
  }
}

const optional =
  (inner: Rule): Rule =>
  value =>
    value === undefined ? undefined : inner(value)

/** Minimum of `watch.minMs`: a client that calls more often would mostly draw frames that no one sees. */
const MIN_WATCH_MS = 50

const watch = record({
  on: value => (Array.isArray(value) && value.length > 0 ? list(word)(value) : 'must be a list of at least one topic'),
  mode: optional(oneOf('snapshot', 'delta')),
  minMs: optional(
    rule(value => Number.isInteger(value) && (value as number) >= MIN_WATCH_MS, `a whole number from ${MIN_WATCH_MS}`)
  )
})

/** Rule for a whole operation: clients call a watched one again and again, and deltas need fixed fields. */
const watchable: Rule = value => {
  const { watch, effect, input, output } = value as OperationDescriptor
  if (watch === undefined) return undefined
  if (effect !== 'read') return `.watch is only for operations with the effect read, not ${effect}`
  if (watch.mode !== 'delta') return undefined
  const fields = (schema: object): object => Object((schema as { readonly properties?: object }).properties)
  const lacking = ['cursor', 'reset', 'upsert', 'remove', 'more'].filter(field => !(field in fields(output)))
  if ('since' in fields(input) && lacking.length === 0) return undefined
  return '.watch.mode is delta, but the schemas are not those of deltaOperation'
}

const MANIFEST = record({
  manifest: oneOf(1),
  name: rule(value => typeof value === 'string' && PLUGIN_NAME.test(value), 'lower case letters, digits and hyphens'),
  version: text,
  summary: text,
  sdk: count,
  requires: list(serviceId),
  optional: list(serviceId),
  refs: list(serviceId),
  after: list(word),
  provides: list(serviceId),
  operations: list(
    every(
      record({
        id: word,
        summary: text,
        input: table,
        output: table,
        events: optional(table),
        errors: table,
        effect: oneOf('read', 'write', 'destructive'),
        idempotent: flag,
        timeoutMs: count,
        concurrency: count,
        scopes: list(text),
        untapped: optional(value => (value === true ? undefined : text(value))),
        expose: table,
        claims: optional(list(text)),
        shown: optional(list(text)),
        watch: optional(watch)
      }),
      watchable
    )
  ),
  points: list(word),
  contributes: optional(list(word)),
  taps: optional(list(word)),
  hooks: list(
    record({
      id: word,
      mode: oneOf('series', 'parallel', 'waterfall', 'bail'),
      onError: oneOf('fail', 'skip'),
      timeoutMs: optional(count),
      schema: optional(table)
    })
  ),
  commands: list(record({ command: words, summary: text, input: table })),
  config: table,
  permissions: table,
  enabledByDefault: flag,
  serves: optional(flag),
  onBootFailure: optional(oneOf('abort', 'continue', 'retry'))
})

/**
 * Validates a manifest. `file`: path for messages.
 *
 * Throws `LDR_MANIFEST_INVALID`, or `LDR_SDK_MISMATCH` for a plugin that was built for another major version of the
 * SDK.
 */
export function validateManifest(value: unknown, file: string): PluginManifest {
  const { sdk, name } = (isTable(value) ? value : {}) as Partial<PluginManifest>
  if (Number.isInteger(sdk) && sdk !== SDK_VERSION) {
    const older = (sdk as number) < SDK_VERSION
    throw loaderErrors.create(
      'LDR_SDK_MISMATCH',
      `${name ?? file} was built for version ${sdk} of the plugin SDK, but this host has version ${SDK_VERSION}`,
      defined({ at: { file, path: 'sdk' }, hint: older ? 'update the plugin' : 'update svc', plugin: name })
    )
  }
  const problem = MANIFEST(value)
  const manifest = problem === undefined ? withExposure(value as PluginManifest) : undefined
  const twice = manifest && repeated(manifest)
  if (manifest !== undefined && twice === undefined) return manifest
  throw loaderErrors.create('LDR_MANIFEST_INVALID', `${file}: manifest${problem ?? twice}`, {
    at: { file },
    hint: 'manifests are generated: correct definePlugin and build the plugin again'
  })
}

/** Adds fields of exposures that a manifest from an earlier SDK lacks. */
function withExposure(manifest: PluginManifest): PluginManifest {
  const hasExposure = ({ claims, shown }: Partial<OperationDescriptor>): boolean =>
    claims !== undefined && shown !== undefined
  if (manifest.operations.every(hasExposure)) return manifest
  return { ...manifest, operations: manifest.operations.map(each => ({ ...builtInExposure(each), ...each })) }
}

/** Finds a name that the plugin declares twice. Conflicts between plugins are found later, by the generation. */
function repeated(manifest: PluginManifest): string | undefined {
  const commands = manifest.operations.flatMap(each => each.expose.cli?.command ?? [])
  const names: Readonly<Record<string, readonly string[]>> = {
    operations: manifest.operations.map(each => each.id),
    commands: [...manifest.commands.map(each => each.command), ...commands],
    claims: [
      ...manifest.commands.map(each => `command ${each.command}`),
      ...manifest.operations.flatMap(each => each.claims)
    ],
    hooks: manifest.hooks.map(each => each.id),
    points: manifest.points,
    provides: manifest.provides
  }
  for (const [field, ids] of Object.entries(names)) {
    const twice = ids.find((id, index) => ids.indexOf(id) !== index)
    if (twice !== undefined) return `.${field} contains "${twice}" twice`
  }
  return undefined
}

/** Returns the provisional name of a plugin, until its manifest is known. */
export function nameFor(packageName: string): string {
  const name = packageName
    .replace(/^@[^/]+\//, '')
    .replace(/^(svc-)?plugin-/, '')
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
  return PLUGIN_NAME.test(name) ? name : 'unnamed'
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function firstOf(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find(problem => problem !== undefined)
}

function prefixed(path: string, problem: string | undefined): string | undefined {
  if (problem === undefined) return undefined
  return problem.startsWith('.') || problem.startsWith('[') ? path + problem : `${path} ${problem}`
}
