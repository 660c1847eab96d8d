import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { valueName } from '../../typescript/names.ts'
import { TypeImports } from '../../typescript/types.ts'
import { parameterList } from '../endpoints.ts'
import type { WebModule } from '../web-module.ts'

const BINDING = `let bound: Activities | null = null

/** Sets the implementations of the activities. Call it once, before the first activity. */
export function bindActivities(activities: Activities): void {
  bound = activities
}

function $bound(name: string): Activities {
  if (bound !== null) return bound
  throw new globalThis.Error(\`the activity \${name} has no implementation: call bindActivities first\`)
}
`

/**
 * Generates `activities.ts`: function stubs for the activities of a program, for workers and tests in TypeScript. The
 * bodies in the program run only on the server.
 */
export function activitiesFile(web: WebModule): EmittedFile | null {
  const { activities } = web.hir
  if (activities.length === 0) return null
  const imports = new TypeImports()
  const signatures = activities.map(({ name, params, return_type }) => ({
    name,
    head: `(${parameterList(web, params, imports)}): Promise<${web.types.result(return_type, imports)}>`,
    args: params.map(param => valueName(param.name)).join(', ')
  }))
  const members = signatures.map(({ name, head }) => `  ${name}${head}\n`)
  const functions = signatures.map(({ name, head, args }) => {
    return `export async function ${valueName(name)}${head} {\n  return await $bound('${name}').${name}(${args})\n}\n`
  })
  const lines = imports.lines()
  const parts = [
    header(web.name),
    ...(lines.length === 0 ? [] : [`${lines.join('\n')}\n`]),
    `export interface Activities {\n${members.join('')}}\n`,
    BINDING,
    ...functions
  ]
  return { path: 'activities.ts', text: parts.join('\n') }
}
