import type { DaemonState } from '@svc/contracts'
import { isSvcError, type Logger } from '@svc/plugin-sdk'
import type { Address } from './address.ts'
import { closeHub, type DaemonHub, openHub } from './hub.ts'
import { assertFree, holdRepository, ownState, removeStateFile } from './state-file.ts'
import { openStdio } from './stdio.ts'

export interface HeldHubOptions {
  readonly root: string
  readonly about: Pick<DaemonState, 'version' | 'repository_id'>
  readonly maxConnections: number
  readonly log: Logger
}

/**
 * Listens as the only daemon of the repository, and writes its address to the state file. Throws `DMN_REPOSITORY_HELD`,
 * `DMN_PORT_IN_USE` and `DMN_LISTEN_FAILED`. The standard streams need no state file: only the parent uses them.
 */
export async function openHeld(
  address: Address,
  { root, about, maxConnections, log }: HeldHubOptions
): Promise<DaemonHub> {
  if (address.kind === 'stdio') return openStdio()
  await assertFree(root)
  const hub = await openHub(address, maxConnections)
  try {
    await holdRepository(root, ownState({ socket: hub.address, token: hub.token, ...about }))
  } catch (error) {
    if (isSvcError(error, 'DMN_REPOSITORY_HELD')) {
      await closeHub(hub)
      throw error
    }
    // Clients that know the address do not need the file.
    log.error('cannot write .vox/daemon.json; commands will not find this daemon', { error })
  }
  return hub
}

export async function closeHeld(hub: DaemonHub, { root, about }: HeldHubOptions): Promise<void> {
  await closeHub(hub)
  if (hub.server !== null) await removeStateFile(root, ownState({ socket: hub.address, token: hub.token, ...about }))
}
