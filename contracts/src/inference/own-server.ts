import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { service } from '@svc/plugin-sdk'
import { ownIdentity, presenceOf } from '../process/identity.ts'

/** The model server in this process, for the inference client in the same process. */
export const ownModelServer = service<OwnModelServer>('inference.own-server@1')

export interface OwnModelServer {
  /**
   * Returns headers that mark a request as having passed the model hooks, so that taps do not see it twice. Empty for
   * the URL of another server.
   */
  passFor(url: string): Readonly<Record<string, string>>
}

/** Path of the file with the address of a project's running model server. Its setting may be port 0. */
export function ownServerPath(stateRoot: string): string {
  return join(stateRoot, 'model-server.json')
}

/** Returns the text of the file for a server in this process. `url`: its base URL. */
export function ownServerText(url: string): string {
  return `${JSON.stringify({ url, ...ownIdentity() })}\n`
}

/** Returns the base URL of a project's running model server; null if the file is missing or its process has ended. */
export function readOwnServer(stateRoot: string): string | null {
  try {
    const { url, host, pid, start } = JSON.parse(readFileSync(ownServerPath(stateRoot), 'utf8'))
    const isValid =
      typeof url === 'string' && URL.canParse(url) && typeof host === 'string' && Number.isSafeInteger(pid)
    if (!isValid) return null
    return presenceOf({ host, pid, start: typeof start === 'string' ? start : null }) === 'dead' ? null : url
  } catch {
    return null
  }
}
