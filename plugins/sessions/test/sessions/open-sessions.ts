import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import type { Settings } from '#root'
import { Sessions } from '#sessions'

export const SETTINGS: Settings = { idle_seconds: 1800, archive_seconds: 86_400, max_live: 16, fsync: 'auto' }

export interface OpenOptions {
  readonly folder: string
  readonly store?: DatabaseStore | null
  readonly now?: () => number
  readonly settings?: Partial<Settings>
}

export function openSessions({ folder, store = null, now = Date.now, settings }: OpenOptions): Sessions {
  return new Sessions({
    repositoryId: 'test',
    folder,
    otherFolders: [],
    now,
    store: async () => store,
    settings: () => ({ ...SETTINGS, ...settings }),
    warn: () => undefined
  })
}

const folders: string[] = []

process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Creates an empty folder, which is removed when the process ends. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-sessions-'))
  folders.push(folder)
  return folder
}
