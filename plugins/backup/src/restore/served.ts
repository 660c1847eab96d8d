import { readdir, readlink } from 'node:fs/promises'
import { daemonPresence, probeDaemon, type RestoreRoots, readDaemonState } from '@svc/contracts'
import { backupErrors } from '../errors.ts'

/** Throws `BKP_SERVED` if a daemon serves a project, or another process has files of its state open. */
export async function assertNotServed({ project, state }: RestoreRoots): Promise<void> {
  const daemon = await readDaemonState(project)
  if (daemon !== null && (daemonPresence(daemon) === 'alive' || (await probeDaemon(daemon))))
    throw backupErrors.create('BKP_SERVED', `process ${daemon.pid} serves ${project}`, {
      hint: 'stop it with svc daemon stop, and restore then'
    })
  const holder = await holderOf(state)
  if (holder === null) return
  throw backupErrors.create('BKP_SERVED', `process ${holder.pid} has ${holder.file} open`, {
    hint: 'stop the server or program that uses the project, and restore then'
  })
}

/** Returns a process of this user that has a file below a folder open. Null where the system has no `/proc`. */
async function holderOf(folder: string): Promise<{ readonly pid: number; readonly file: string } | null> {
  for (const name of await readdir('/proc').catch(() => [])) {
    const pid = Number(name)
    if (!Number.isSafeInteger(pid) || pid === process.pid) continue
    for (const descriptor of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const file = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '')
      if (file.startsWith(`${folder}/`)) return { pid, file: file.replace(/ \(deleted\)$/, '') }
    }
  }
  return null
}
