import type { ConfigProblem, JsonSchema, OperationDescriptor } from '@svc/plugin-sdk'
import type { CommandSession } from './commands.ts'

const ENVIRONMENT_CODES: ReadonlySet<string> = new Set(['CFG_ENV_INVALID', 'CFG_ENV_UNKNOWN'])

/** Adds the fields with `x-fill` to the input of a call to the daemon, which cannot see this process. */
export async function fillInput(
  { catalog }: CommandSession,
  { input: schema }: OperationDescriptor,
  input: unknown
): Promise<unknown> {
  const fields = Object.entries((schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>)
  const [field] = fields.find(([, each]) => each['x-fill'] === 'environment-problems') ?? []
  if (field === undefined || typeof input !== 'object' || input === null || field in input) return input
  return { ...input, [field]: await environmentProblems(catalog) }
}

/** Returns the problems of this process's environment variables, with the plugins that read them. */
async function environmentProblems({
  sources,
  manifests,
  lapsed
}: CommandSession['catalog']): Promise<(ConfigProblem & { readonly plugin: string | null })[]> {
  // Loaded on demand, since it validates all settings.
  const { resolveConfig } = await import('../host/plugin-config.ts')
  const { generalProblems, plugins } = resolveConfig(sources, [...manifests, ...lapsed])
  const all = [
    ...generalProblems.map(problem => ({ ...problem, plugin: null })),
    ...[...plugins.values()].flatMap(({ name, problems }) => problems.map(problem => ({ ...problem, plugin: name })))
  ]
  return all.filter(({ code }) => ENVIRONMENT_CODES.has(code))
}
