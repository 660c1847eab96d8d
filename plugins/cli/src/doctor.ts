import { access, constants, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { KernelAdmin } from '@svc/contracts'

export interface Finding {
  readonly subject: string
  readonly status: 'ok' | 'warning' | 'error'
  readonly detail: string
  readonly hint: string | null
}

const RESTING = new Set(['active', 'resolved', 'disabled'])
const BROKEN = new Set(['invalid', 'failed', 'quarantined', 'stuck'])

/** One finding per plugin and per health check. */
export async function examinePlugins(admin: KernelAdmin): Promise<Finding[]> {
  const states = admin.plugins().map((plugin): Finding => {
    const status = BROKEN.has(plugin.state) ? 'error' : RESTING.has(plugin.state) ? 'ok' : 'warning'
    const detail = plugin.why === null ? plugin.state : `${plugin.state}: ${plugin.why}`
    return {
      subject: `plugin ${plugin.name}`,
      status,
      detail,
      hint: status === 'ok' ? null : `svc plugins why ${plugin.name}`
    }
  })
  const health = (await admin.health()).map((report): Finding => {
    const status = report.status === 'ok' ? 'ok' : report.status === 'degraded' ? 'warning' : 'error'
    return { subject: `${report.plugin}: ${report.label}`, status, detail: report.detail ?? report.status, hint: null }
  })
  return [...states, ...health]
}

/** Runtime, state folder and configuration, before the plugins. */
export async function examineInstallation(admin: KernelAdmin, projectRoot: string): Promise<Finding[]> {
  const problems = (await admin.validate()).map((problem): Finding => {
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
    await examineStateFolder(projectRoot),
    ...(problems.length === 0 ? [configuration] : problems),
    ...(await examinePlugins(admin))
  ]
}

export function examineRuntime(version: string): Finding {
  const major = Number(version.split('.')[0])
  const base = { subject: 'node', detail: version }
  if (major < 20) return { ...base, status: 'error', hint: 'install Node 20.19 or newer' }
  if (major < 22) return { ...base, status: 'warning', hint: 'works; Node 24 is faster and still maintained' }
  return { ...base, status: 'ok', hint: null }
}

async function examineStateFolder(projectRoot: string): Promise<Finding> {
  const folder = join(projectRoot, '.vox')
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
    return { subject: 'state folder', status: 'ok', detail: folder, hint: null }
  } catch (error) {
    const detail = `${folder} is not writable: ${(error as NodeJS.ErrnoException).code ?? String(error)}`
    return { subject: 'state folder', status: 'error', detail, hint: 'set SVC_DATA_DIR to a folder that is' }
  }
}
