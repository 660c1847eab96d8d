import { kernelAdmin } from '@svc/contracts'
import type { PluginCatalog } from '../host/catalog.ts'
import type { Project, ProjectOptions } from '../host/project/project.ts'
import type { CommandSession } from './commands.ts'
import { consoleLog } from './console-log.ts'
import { withLateOptimisation } from './late-optimisation.ts'

export interface OneShotOptions {
  /** Plugins to activate, with their requirements. */
  readonly activate: readonly string[]
  /** True to run like a server: files are watched, and the log has the format of a server's log. */
  readonly lasting?: boolean
  /** True to accept a configuration with errors. Default: true with `--safe` and for commands that manage the configuration. */
  readonly tolerant?: boolean
}

/** Opens the project with the given plugins while `use` runs, then closes it. */
export async function withProject<A>(
  { catalog, flags }: CommandSession,
  options: OneShotOptions,
  use: (project: Project) => Promise<A>
): Promise<A> {
  const { openProject } = await import('../host/open-project.ts')
  const { activate, lasting = false } = options
  const logLevel = flags.logLevel ?? 'warn'
  const brief = (): Partial<ProjectOptions> => ({
    log: consoleLog(logLevel, flags.json, line => process.stderr.write(line)),
    // A single command ends too soon to react to changed files.
    watch: false,
    serves: false
  })
  // Commands that manage the configuration must work with an invalid one.
  const tolerant =
    options.tolerant ??
    (flags.safe ||
      catalog.manifests.some(({ name, requires }) => name === activate[0] && requires.includes(kernelAdmin.id)))
  const project = await openProject({ catalog, activate, tolerant, ...(lasting ? { logLevel } : brief()) })
  try {
    return await (lasting ? use(project) : withLateOptimisation(() => use(project)))
  } finally {
    await project.close()
  }
}

/**
 * Returns the plugins for a command that needs the whole project. Plugins that open ports are left out, as they may be
 * in use.
 */
export function withoutServers({ manifests }: PluginCatalog, owner: string): string[] {
  return manifests.filter(each => each.serves !== true || each.name === owner).map(each => each.name)
}
