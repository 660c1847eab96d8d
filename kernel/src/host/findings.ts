import { formatProblem } from '@svc/config'
import type { ConfigProblem, Finding } from '@svc/contracts'
import type { SvcError } from '@svc/plugin-sdk'
import type { KernelLogger } from '../core/logger.ts'
import type { PluginCatalog } from './catalog.ts'
import type { ResolvedConfig } from './plugin-config.ts'

/** Problems of plugins and settings. Logs each finding once when it appears, and once when it disappears. */
export class Findings {
  readonly #log: KernelLogger
  #current: ReadonlyMap<string, Finding> = new Map()

  constructor(log: KernelLogger) {
    this.#log = log
  }

  list(): readonly Finding[] {
    return [...this.#current.values()]
  }

  update(catalog: PluginCatalog, config: ResolvedConfig): void {
    const before = this.#current
    this.#current = new Map(findingsIn(catalog, config).map(finding => [keyOf(finding), finding]))
    for (const [key, finding] of this.#current) if (!before.has(key)) this.#report(finding)
    const stillWrong = new Set([...this.#current.values()].map(subjectOf))
    for (const [key, finding] of before) {
      if (this.#current.has(key) || stillWrong.has(subjectOf(finding))) continue
      this.#log.info(`${subjectOf(finding)}: no longer reported: ${finding.code}`, { code: finding.code })
    }
  }

  #report({ plugin, severity, code, message, hint, location }: Finding): void {
    const fields = { code, ...(hint === null ? {} : { hint }), ...(location === null ? {} : { location }) }
    const log = plugin === null ? this.#log : this.#log.forPlugin(plugin)
    if (severity === 'error' && code.startsWith('CFG_')) log.error(message, fields)
    else log.warn(message, fields)
  }
}

export function findingsIn({ found, pages, isLeftOut }: PluginCatalog, config: ResolvedConfig): Finding[] {
  const ofSources = found.sources.flatMap(({ name, location, problem }) =>
    problem === null || isLeftOut(name) ? [] : [fromError(name, 'error', problem, location)]
  )
  const ofDiscovery = found.problems.map(({ location, error }) =>
    fromError(error.plugin ?? null, 'warning', error, location)
  )
  const ofSettings = [...config.plugins.values()].flatMap(({ name, problems }) =>
    isLeftOut(name) ? [] : problems.map(problem => fromProblem(name, problem))
  )
  const ofPages = pages
    .problems()
    .map(({ plugin, location, error }) => fromError(plugin, 'warning', error, error.at?.file ?? location))
  return [
    ...config.generalProblems.map(problem => fromProblem(null, problem)),
    ...ofSettings,
    ...ofSources,
    ...ofDiscovery,
    ...ofPages
  ]
}

function fromError(plugin: string | null, severity: Finding['severity'], error: SvcError, location: string): Finding {
  return { plugin, severity, code: error.code, message: error.message, hint: error.hint ?? null, key: null, location }
}

function fromProblem(plugin: string | null, problem: ConfigProblem): Finding {
  const { severity, code, hint = null, file = null, key = null } = problem
  return { plugin, severity, code, message: formatProblem(problem), hint, key, location: file }
}

function keyOf({ plugin, code, message }: Finding): string {
  return JSON.stringify([plugin, code, message])
}

function subjectOf({ plugin, location }: Finding): string {
  return plugin ?? location ?? 'configuration'
}
