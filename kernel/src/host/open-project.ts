import { problemsError } from '@svc/config'
import type { ConfigProblem } from '@svc/contracts'
import type { KernelLogger } from '../core/logger.ts'
import { Choices } from './choices.ts'
import { settledConfig } from './known-guards.ts'
import type { ResolvedConfig } from './plugin-config.ts'
import { Project, type ProjectOptions } from './project/project.ts'
import { configOf } from './project/project-state.ts'

/**
 * Opens a project: runs its plugins and watches its files. A server first waits for configuration files that may be
 * half-written. Throws `CFG_…` if the configuration is invalid, and rethrows
 * the error of a plugin with the boot policy `abort`.
 */
export async function openProject(given: ProjectOptions): Promise<Project> {
  const first = { catalog: given.catalog, config: configOf(given.catalog) }
  const { catalog, config } =
    given.serves === false
      ? first
      : await settledConfig(first, configOf, async () => given.log ?? (await serverLog(given, first.config)))
  const options = { ...given, catalog }
  // A single command requires valid settings only of the plugins that it uses.
  const relevant = [
    ...config.generalProblems,
    ...(options.activate === undefined ? problemsOfRequiredPlugins(options, config) : [])
  ]
  const fatal = relevant.filter(problem => problem.severity === 'error')
  if (fatal.length > 0 && options.tolerant !== true) throw problemsError(fatal)
  const log = options.log ?? (await serverLog(options, config))
  const project = new Project(options, config, log)
  try {
    await project.start()
    return project
  } catch (error) {
    await project.close()
    throw error
  }
}

/**
 * Returns the problems of required plugins: a server must not start without them, but leaves out any other plugin with
 * invalid settings. Settings of broken plugins are ignored: their manifests may be out of date, and they do not run.
 */
function problemsOfRequiredPlugins(options: ProjectOptions, config: ResolvedConfig): readonly ConfigProblem[] {
  const { catalog } = options
  const configure = new Choices(options).configure(config, catalog)
  return catalog.manifests.flatMap(({ name, enabledByDefault }) => {
    const { enabled, policy } = configure(name)
    const isRequired = (enabled ?? enabledByDefault) && policy.onBootFailure === 'abort'
    return isRequired ? (config.plugins.get(name)?.problems ?? []) : []
  })
}

async function serverLog(options: ProjectOptions, { kernel }: ResolvedConfig): Promise<KernelLogger> {
  // Loaded on demand: a single command uses the console log instead.
  const { createLogger } = await import('./log.ts')
  return createLogger({
    level: options.logLevel ?? kernel.log_level,
    format: options.logFormat ?? kernel.log_format ?? (process.stderr.isTTY ? 'pretty' : 'json')
  })
}
