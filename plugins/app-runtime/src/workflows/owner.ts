import { ownIdentity, presenceOf } from '@svc/contracts'

let own: { readonly place: string; readonly start: string | null } | null = null

/** Returns the owner of a turn: the identity of this process, with `turn` to be unique within the process. */
export function ownerOf(turn: string): string {
  if (own === null) {
    const { host, pid, start } = ownIdentity()
    own = { place: `${pid}@${host}`, start }
  }
  return own.start === null ? `${own.place} ${turn}` : `${own.place} ${turn} ${own.start}`
}

/**
 * True if the process of the owner has certainly ended, so that its lease has no effect. False for a process on another
 * host, of another boot or in another PID namespace: only the lease can show that it has ended.
 */
export function hasEnded(owner: string): boolean {
  const match = /^(\d+)@(\S+) \S+(?: (.+))?$/.exec(owner)
  if (match === null) return false
  const [, pid, host, start = null] = match
  return presenceOf({ host: host as string, pid: Number(pid), start }) === 'dead'
}
