import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage, type Handler, type Infer, type Logger } from '@svc/plugin-sdk'
import { type LastCheck, readLastCheck, search, writeIgnored, writeLastCheck } from './check.ts'
import { isBreaking, isNewer } from './choose.ts'
import { updateErrors } from './errors.ts'
import { clearFailure, recordFailure } from './failure.ts'
import type { updatesCheck, updatesIgnore, updatesStatus } from './operations.ts'
import type { Settings } from './settings.ts'
import { targetTriple } from './target.ts'
import type { Toolchain } from './toolchain.ts'

const HOUR_MS = 3_600_000
/** Interval in which the time of the last check is compared with the clock, which may be set or stand still. */
const LOOK_MS = 600_000

export interface Dependencies {
  readonly settings: () => Settings
  readonly toolchain: Toolchain
  /** Version that runs. */
  readonly current: string
  readonly changed: () => void
}

type Status = Infer<typeof updatesStatus.output>

export function statusHandler(dependencies: Dependencies): Handler<typeof updatesStatus> {
  return async () => statusOf(dependencies, await readLastCheck(dependencies.toolchain.home))
}

export function checkHandler(dependencies: Dependencies): Handler<typeof updatesCheck> {
  return async (_, { signal }) => statusOf(dependencies, await check(dependencies, signal))
}

/** Asks the provider, and stores the result. */
async function check({ settings, toolchain, current, changed }: Dependencies, signal: AbortSignal): Promise<LastCheck> {
  const { source, release } = await search(settings(), {}, current, signal)
  const { tag, version } = release
  const found = { checked_at: Date.now(), source: source.description, tag, version }
  const result = await stored(toolchain, async home => {
    await clearFailure(home, 'check')
    return await writeLastCheck(home, found)
  })
  changed()
  return result
}

export function ignoreHandler({ toolchain, changed }: Dependencies): Handler<typeof updatesIgnore> {
  return async ({ tag }) => {
    await stored(toolchain, home => writeIgnored(home, tag))
    changed()
    return { ignored: tag }
  }
}

async function statusOf({ settings, toolchain, current }: Dependencies, last: LastCheck | null): Promise<Status> {
  const { provider, repo, base_url, channel } = settings()
  const [active, versions] = await Promise.all([toolchain.current(), toolchain.versions()])
  return {
    current_version: current,
    update_available: last !== null && isNewer(last.version, current),
    available_version: last?.version ?? null,
    available_tag: last?.tag ?? null,
    breaking: last !== null && isBreaking(current, last.version),
    checked_at: last === null ? null : new Date(last.checked_at).toISOString(),
    source: provider === 'http' ? (base_url ?? 'http') : `${provider}:${repo}`,
    channel,
    target_triple: targetTriple(),
    home: toolchain.home,
    program: active === null ? null : toolchain.program,
    installed: versions
      .toSorted((a, b) => (a.installed_at < b.installed_at ? 1 : -1))
      .map(({ directory, tag, version, asset, installed_at }) => {
        return { tag, version, asset, installed_at, current: directory === active?.directory }
      })
  }
}

/** Writes to the toolchain folder. Throws `UPD_INSTALL_FAILED`. */
export async function stored<A>({ home }: Toolchain, write: (home: string) => Promise<A>): Promise<A> {
  try {
    return await write(home)
  } catch (cause) {
    throw updateErrors.create('UPD_INSTALL_FAILED', `cannot write to ${home}: ${errorMessage(cause)}`, {
      cause,
      at: { file: home },
      hint: 'make the folder writable, or set plugins.updates.home'
    })
  }
}

/** Checks whenever the last check, of any process, is older than the interval. */
export async function checkRepeatedly(
  dependencies: Dependencies,
  hours: number,
  log: Pick<Logger, 'info' | 'warn'>,
  signal: AbortSignal
): Promise<void> {
  let triedAt = 0
  while (!signal.aborted) {
    const last = await readLastCheck(dependencies.toolchain.home)
    const due = Math.max(last?.checked_at ?? 0, triedAt) + hours * HOUR_MS
    if (Date.now() >= due) {
      triedAt = Date.now()
      await check(dependencies, signal).catch(async error => {
        if (signal.aborted) return
        log.warn('cannot check for a new version', { reason: errorMessage(error) })
        await recordFailure(dependencies.toolchain.home, 'check', error)
        dependencies.changed()
      })
    }
    await delay(LOOK_MS, undefined, { signal }).catch(() => undefined)
  }
}
