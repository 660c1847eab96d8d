import type { Plugin } from '@svc/plugin-sdk'
import { loaderErrors } from './errors.ts'

interface Field {
  readonly expected: string
  readonly test: (value: unknown) => boolean
}

/** Forms of the fields of `definePlugin` that TypeScript checks, and JavaScript does not. */
const FIELDS: Readonly<Record<string, Field>> = {
  name: { expected: 'a string', test: value => typeof value === 'string' },
  summary: { expected: 'a string', test: value => value === undefined || typeof value === 'string' },
  config: { expected: 'a schema, such as t.object({ … })', test: value => value === undefined || isSchema(value) },
  requires: tableOf('services or references', '{ db: database }', value => isToken(value)),
  optional: tableOf('services or references', '{ db: database }', value => isToken(value)),
  after: listOf('names of plugins', "['http']", value => typeof value === 'string'),
  provides: listOf('services', '[database]', value => isKind(value, 'service')),
  operations: listOf('operations', '[defineOperation({ … })]', value => isKind(value, 'operation')),
  points: listOf('points', "[point('notes.sources')]", value => isKind(value, 'point')),
  contributes: listOf('points', "[point('notes.sources')]", value => isKind(value, 'point')),
  taps: listOf('hooks', "[hook('notes.saved', 'series')]", value => isKind(value, 'hook')),
  hooks: listOf('hooks', "[hook('notes.saved', 'series')]", value => isKind(value, 'hook')),
  commands: listOf(
    'commands',
    "[{ command: 'notes show', summary: '…', input: t.object({}) }]",
    value => isTable(value) && typeof value.command === 'string' && isSchema(value.input)
  ),
  permissions: {
    expected: "an object, such as { fsRead: ['data'] }",
    test: value => value === undefined || isTable(value)
  }
}

/**
 * Checks the fields of a plugin that its manifest is made of. `name`: name of its package; `file`: its folder.
 *
 * Throws `LDR_MANIFEST_INVALID`, which names the plugin, the field and the expected form.
 */
export function checkDefinition(plugin: Plugin, name: string, file: string): void {
  for (const [field, { expected, test }] of Object.entries(FIELDS)) {
    const value = (plugin as unknown as Readonly<Record<string, unknown>>)[field]
    if (test(value)) continue
    const known = typeof plugin.name === 'string' ? plugin.name : name
    const message = `${known}: ${field} in definePlugin must be ${expected}; it ${described(value)}`
    throw loaderErrors.create('LDR_MANIFEST_INVALID', message, {
      plugin: known,
      at: { file, path: field },
      hint: `correct ${field} in definePlugin`
    })
  }
}

function listOf(what: string, example: string, each: (value: unknown) => boolean): Field {
  return {
    expected: `a list of ${what}, such as ${example}`,
    test: value => value === undefined || (Array.isArray(value) && value.every(each))
  }
}

function tableOf(what: string, example: string, each: (value: unknown) => boolean): Field {
  return {
    expected: `an object of ${what}, such as ${example}`,
    test: value => value === undefined || (isTable(value) && Object.values(value).every(each))
  }
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for an object, and for a function: schemas of some libraries can be called. */
function isSchema(value: unknown): boolean {
  return isTable(value) || typeof value === 'function'
}

function isKind(value: unknown, kind: string): boolean {
  return isTable(value) && value.kind === kind && typeof value.id === 'string'
}

function isToken(value: unknown): boolean {
  return isKind(value, 'service') || isKind(value, 'ref')
}

/** Describes a wrong value without its content. */
function described(value: unknown): string {
  if (Array.isArray(value)) return 'is a list with other values'
  if (isTable(value)) return 'is an object'
  return value === undefined ? 'is missing' : value === null ? 'is null' : `is a ${typeof value}`
}
