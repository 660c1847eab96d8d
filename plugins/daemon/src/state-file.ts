import { readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type DaemonState, daemonStatePath, parseDaemonState, probeDaemon, readDaemonState } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { makeFolder } from '@svc/plugin-sdk/folders'

/** Tells the project where its daemon is. Written whole or not at all; what a dead daemon left is replaced. */
export async function writeStateFile(root: string, state: DaemonState, log: Logger): Promise<void> {
  const other = await readDaemonState(root)
  if (other !== null && other.pid !== state.pid && (await probeDaemon(other))) {
    log.warn(
      `another daemon, process ${other.pid}, serves this project at ${other.socket}; commands will use this one now`
    )
  }
  const path = daemonStatePath(root)
  const draft = `${path}.${state.pid}.tmp`
  makeFolder(dirname(path))
  await writeFile(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, path)
}

/** Leaves the file alone when another daemon has written it since. */
export async function removeStateFile(root: string, state: Pick<DaemonState, 'pid' | 'socket'>): Promise<void> {
  const path = daemonStatePath(root)
  try {
    const found = parseDaemonState(await readFile(path, 'utf8'))
    if (found?.pid === state.pid && found.socket === state.socket) await unlink(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
