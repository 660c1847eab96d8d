import { hostname } from 'node:os'

/** Identifies this process among all users of a database; `turn` makes it unique within the process. */
export function ownerOf(turn: string): string {
  return `${process.pid}@${hostname()} ${turn}`
}

/** True if the owner's process has certainly ended, so that its lease is void. */
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
