import { homedir, platform } from 'node:os'
import { join } from 'node:path'

/** What projects of one user share: the folder that the setting names, else the platform's place for such things. */
export function dataDirectory(told: string | undefined, env: NodeJS.ProcessEnv, system = platform()): string {
  if (told !== undefined) return told
  if (system === 'win32') return join(env.APPDATA || join(homedir(), 'AppData', 'Roaming'), 'svc')
  if (system === 'darwin') return join(homedir(), 'Library', 'Application Support', 'svc')
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'svc')
}
