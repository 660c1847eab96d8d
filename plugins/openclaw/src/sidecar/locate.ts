import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { isExecutable } from '@svc/contracts'

/** Name of the sidecar's program and process. */
export const SIDECAR_NAME = 'openclaw-gateway'

/**
 * Returns the folders in which the program is looked for, in order: next to the running program, `~/.vox/bin`, and the
 * absolute folders of `PATH`. Relative folders of `PATH` are ignored: their content depends on the working folder.
 */
export function sidecarFolders(environment: NodeJS.ProcessEnv = process.env): string[] {
  const [node = process.execPath, script] = process.argv
  const home = environment.HOME ?? environment.USERPROFILE ?? homedir()
  const beside = [script, script === undefined ? undefined : realPath(script), node]
  return [
    ...new Set([
      ...beside.filter(each => each !== undefined).map(each => dirname(each)),
      join(home, '.vox', 'bin'),
      ...(environment.PATH ?? '').split(delimiter).filter(each => isAbsolute(each))
    ])
  ]
}

/** Returns the path of the first executable file of that name; null if no folder has one. */
export async function locateProgram(name: string, folders: readonly string[]): Promise<string | null> {
  const file = process.platform === 'win32' ? `${name}.exe` : name
  for (const folder of folders) {
    const path = join(folder, file)
    if (await isExecutable(path)) return path
  }
  return null
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
