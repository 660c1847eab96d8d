import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'

/** Returns whether a path is a file that this process may run. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
