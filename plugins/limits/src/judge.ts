import type { Measurement } from './measure.ts'
import type { Settings } from './settings.ts'

const MIB = 1_048_576
/** A warning ends only when there is this much more room than at its limit, so that it does not flicker. */
const HYSTERESIS = 1.1

export type Resource = 'disk' | 'memory' | 'heap'

export interface Warning {
  readonly resource: Resource
  /** `refuse`: the database refuses writes. */
  readonly level: 'warn' | 'refuse'
  /** Sentence without its end. */
  readonly message: string
  readonly hint: string
}

/** Returns the warnings for a measurement. `before`: those of the last one, which end a little later than they begin. */
export function judge(measured: Measurement, settings: Settings, before: readonly Warning[]): Warning[] {
  return [...diskWarnings(measured, settings, before), ...memoryWarnings(measured, settings, before)]
}

function diskWarnings(measured: Measurement, settings: Settings, before: readonly Warning[]): Warning[] {
  const free = measured.disk_free_bytes
  const isBelow = (limit: number, level: Warning['level']): boolean => {
    const was = before.some(each => each.resource === 'disk' && (level === 'warn' || each.level === 'refuse'))
    return limit > 0 && free < limit * MIB * (was ? HYSTERESIS : 1)
  }
  const message = `the disk of the state folder has ${mib(free)} of ${mib(measured.disk_size_bytes)} free`
  if (isBelow(settings.disk_refuse_mb, 'refuse'))
    return [
      {
        resource: 'disk',
        level: 'refuse',
        message,
        hint: `free space: below ${settings.disk_refuse_mb} MiB (plugins.limits.disk_refuse_mb) the database refuses writes`
      }
    ]
  if (!isBelow(settings.disk_warn_mb, 'warn')) return []
  const hint = `free space: below ${settings.disk_refuse_mb} MiB the database refuses writes`
  return [{ resource: 'disk', level: 'warn', message, hint: settings.disk_refuse_mb === 0 ? 'free space' : hint }]
}

function memoryWarnings(measured: Measurement, settings: Settings, before: readonly Warning[]): Warning[] {
  const warnings: Warning[] = []
  const check = (
    resource: Resource,
    used: number,
    limit: number,
    percent: number,
    about: string,
    hint: string
  ): void => {
    const was = before.some(each => each.resource === resource)
    // The room that is left grows by the factor.
    const room = (1 - percent / 100) * (was ? HYSTERESIS : 1)
    if (percent === 0 || used < limit * (1 - room)) return
    warnings.push({ resource, level: 'warn', message: `${about} uses ${mib(used)} of ${mib(limit)}`, hint })
  }
  const { memory_source, memory_used_bytes, memory_limit_bytes, heap_used_bytes, heap_limit_bytes, rss_bytes } =
    measured
  check(
    'memory',
    memory_used_bytes,
    memory_limit_bytes,
    settings.memory_warn_percent,
    memory_source === 'cgroup' ? 'the container' : 'this machine',
    `svc itself uses ${mib(rss_bytes)}; unload models (svc model unload), or raise the limit`
  )
  check(
    'heap',
    heap_used_bytes,
    heap_limit_bytes,
    settings.heap_warn_percent,
    'the JavaScript heap',
    'svc plugins top shows busy plugins; NODE_OPTIONS=--max-old-space-size=MB raises the limit'
  )
  return warnings
}

function mib(bytes: number): string {
  return bytes >= 10_240 * MIB ? `${Math.round(bytes / 1_024 / MIB)} GiB` : `${Math.round(bytes / MIB)} MiB`
}
