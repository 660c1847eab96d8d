import { problemsError } from '@svc/config'
import type { KernelLogger } from '../core/logger.ts'
import type { ResolvedConfig } from './plugin-config.ts'
import { configOf, Project, type ProjectOptions } from './project.ts'

/**
 * Opens a project: its plugins run, and its files are watched. Throws `CFG_…` for an unusable configuration, and the
 * error of a plugin whose policy is to abort.
 */
export async function openProject(options: ProjectOptions): Promise<Project> {
  const { catalog } = options
  const config = configOf(catalog)
  // A server does not start with fewer plugins than configured; one command needs only its own plugin. The manifest of a
  // broken plugin may be out of date, and the plugin does not run.
  const broken = new Set(catalog.lapsed.map(({ name }) => name))
  const sound = [...config.plugins.values()].filter(({ name }) => !broken.has(name))
  const relevant = [
    ...config.generalProblems,
    ...(options.activate === undefined ? sound.flatMap(({ problems }) => problems) : [])
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

async function serverLog(options: ProjectOptions, { kernel }: ResolvedConfig): Promise<KernelLogger> {
  // A single command uses the console log and does not load this one.
  const { createLogger } = await import('./log.ts')
  return createLogger({
    level: options.logLevel ?? kernel.log_level,
    format: options.logFormat ?? kernel.log_format ?? (process.stderr.isTTY ? 'pretty' : 'json')
  })
}
