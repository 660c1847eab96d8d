import { point } from '@svc/plugin-sdk'

/**
 * Data of plugins in backups. `svc backup` takes the configuration, the programs and everything in the state folder
 * by itself, so that a plugin contributes a part only for the following.
 */
export const backupParts = point<BackupPart>('backup.parts', { keys: ({ name }) => [`backup part ${name}`] })

export interface BackupPart {
  /** Lower-case letters, digits and hyphens; begins with the plugin's name. */
  readonly name: string
  /** Noun phrase for users, such as `vault of secrets`. */
  readonly summary: string
  /**
   * - `data`: files outside of the state folder that belong to the backup.
   * - `keys`: keys and secrets, which only an encrypted archive holds unless the user decides otherwise.
   * - `derived`: what can be built or downloaded again, such as caches and indexes. It is left out, and a restore keeps
   *   what is there.
   */
  readonly kind: 'data' | 'keys' | 'derived'
  /** Returns the files and folders of the part: absolute, or relative to the project. They need not exist. */
  paths?(): readonly string[] | Promise<readonly string[]>
  /** Returns what a backup cannot hold and where it is backed up instead, as a sentence; null if it holds everything. */
  elsewhere?(): string | null
  /** Writes what is in no file into an empty folder. */
  export?(folder: string, signal: AbortSignal): Promise<void>
  /** Checks exported files before a restore changes anything. Throws if {@link import} would fail. */
  check?(folder: string, signal: AbortSignal): Promise<void>
  /** Takes over exported files. Runs before the restored files are in place, and may run again after a crash. */
  import?(folder: string, signal: AbortSignal): Promise<void>
}
