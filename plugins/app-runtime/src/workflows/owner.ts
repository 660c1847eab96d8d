import { hostname } from 'node:os'

/** Returns the owner of a turn: host and process id, with `turn` to be unique within the process. */
export function ownerOf(turn: string): string {
  return `${process.pid}@${hostname()} ${turn}`
}

/** True if the process of the owner has certainly ended, so that its lease has no effect. */
export function hasEnded(owner: string): boolean {
  const match = /^(\d+)@(\S+) /.exec(owner)
  if (match === null || match[2] !== hostname()) return false
  try {
    process.kill(Number(match[1]), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
