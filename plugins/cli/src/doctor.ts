import { access, constants } from 'node:fs/promises'
import { dirname } from 'node:path'
import { daemonStatePath, type KernelAdmin, type PluginReport, probeDaemon, readDaemonState } from '@svc/contracts'
import { withoutRunState } from './one-shot.ts'

export interface Finding {
  readonly subject: string
  readonly status: 'ok' | 'warning' | 'error'
  readonly detail: string
  readonly hint: string | null
}

const OK_STATES = new Set(['active', 'resolved', 'disabled'])
const ERROR_STATES = new Set(['invalid', 'failed', 'quarantined', 'stuck'])

/**
 * Returns a finding for each plugin, each further problem such as a duplicate name, and each health check. `oneShot`: the
 * process runs a single command, so the state `active` is not reported.
 */
export async function examinePlugins(admin: KernelAdmin, oneShot: boolean): Promise<Finding[]> {
  const plugins = oneShot ? admin.plugins().map(withoutRunState) : admin.plugins()
  const states = plugins.map(plugin => {
    const { name, state, why } = plugin
    const status = statusOf(plugin)
    const hint = status === 'ok' ? null : (plugin.hint ?? `svc plugins why ${name}`)
    return { subject: `plugin ${name}`, status, detail: why === null ? state : `${state}: ${why}`, hint }
  })
  const others = admin.findings().filter(({ code, message }) => isOfPlugin(code) && !isShown(message, states))
  const problems = others.map(({ plugin, severity, message, location, hint }) => {
    return {
      subject: plugin === null ? (location ?? 'plugins') : `plugin ${plugin}`,
      status: severity,
      detail: message,
      hint
    }
  })
  const health = (await admin.health()).map((report): Finding => {
    const status = report.status === 'ok' ? 'ok' : report.status === 'degraded' ? 'warning' : 'error'
    return { subject: `${report.plugin}: ${report.label}`, status, detail: report.detail ?? report.status, hint: null }
  })
  return [...states, ...problems, ...health]
}

function statusOf({ state, why }: PluginReport): Finding['status'] {
  if (ERROR_STATES.has(state)) return 'error'
  // A disabled plugin has a reason and no problem.
  return OK_STATES.has(state) && (why === null || state === 'disabled') ? 'ok' : 'warning'
}

/** True for a problem of a package or its name. Problems of settings are listed with the configuration. */
function isOfPlugin(code: string): boolean {
  return !code.startsWith('CFG_')
}

function isShown(message: string, findings: readonly Finding[]): boolean {
  return findings.some(({ detail }) => detail.includes(message))
}

export interface Installation {
  readonly admin: KernelAdmin
  readonly projectRoot: string
  /** Creates this plugin's folder in the project's state folder. */
  openState(): Promise<string>
}

/** Returns findings about runtime, state folder, daemon, configuration and plugins. */
export async function examineInstallation(
  { admin, projectRoot, openState }: Installation,
  oneShot: boolean
): Promise<Finding[]> {
  const plugins = await examinePlugins(admin, oneShot)
  const listed = (await admin.validate()).filter(({ code, message }) => !isOfPlugin(code) || !isShown(message, plugins))
  const problems = listed.map((problem): Finding => {
    const place = problem.file === undefined ? '' : ` (${problem.file}:${problem.line ?? 1})`
    return {
      subject: 'configuration',
      status: problem.severity,
      detail: `${problem.message}${place}`,
      hint: problem.hint ?? null
    }
  })
  const configuration: Finding = { subject: 'configuration', status: 'ok', detail: 'valid', hint: null }
  return [
    examineRuntime(process.versions.node),
    await examineStateFolder(openState),
    await examineDaemon(projectRoot, oneShot),
    ...(problems.length === 0 ? [configuration] : problems),
    ...plugins
  ]
}

export function examineRuntime(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const base = { subject: 'node', detail: version }
  if (major < 20 || (major === 20 && minor < 19))
    return { ...base, status: 'error', hint: 'install Node 20.19 or newer' }
  if (major < 22)
    return { ...base, status: 'warning', hint: 'this version works; Node 24 is faster and still maintained' }
  return { ...base, status: 'ok', hint: null }
}

/** Warns if the process of the daemon exists but its socket does not respond for this project. */
async function examineDaemon(projectRoot: string, oneShot: boolean): Promise<Finding> {
  const state = await readDaemonState(projectRoot)
  const subject = 'daemon'
  if (state === null) return { subject, status: 'ok', detail: 'not running', hint: null }
  const runs = `process ${state.pid} at ${state.socket}`
  if (!oneShot || (await probeDaemon(state))) return { subject, status: 'ok', detail: runs, hint: null }
  return {
    subject,
    status: 'warning',
    detail: `${runs} does not respond for this project`,
    hint: `end the process, or remove ${daemonStatePath(projectRoot)} if it belongs to another program`
  }
}

async function examineStateFolder(open: () => Promise<string>): Promise<Finding> {
  const subject = 'state folder'
  try {
    const folder = await open()
    await access(folder, constants.W_OK)
    return { subject, status: 'ok', detail: dirname(folder), hint: null }
  } catch (error) {
    const { code, path, message } = error as NodeJS.ErrnoException
    const detail = path === undefined ? message : `${path} is not writable: ${code}`
    return { subject, status: 'error', detail, hint: 'make it writable, or choose another project with --project' }
  }
}
