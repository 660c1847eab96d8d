import { homedir, platform } from 'node:os'
import { join } from 'node:path'

/** Returns the folder for data that a user's projects share: the configured one, else the platform's default. */
export function dataDirectory(configured: string | undefined, env: NodeJS.ProcessEnv, system = platform()): string {
  if (configured !== undefined) return configured
  if (system === 'win32') return join(env.APPDATA || join(homedir(), 'AppData', 'Roaming'), 'svc')
  if (system === 'darwin') return join(homedir(), 'Library', 'Application Support', 'svc')
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'svc')
}
