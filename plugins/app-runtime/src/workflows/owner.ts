import { hostname } from 'node:os'

/** Names this process among all that share a database; `turn` makes it unique within the process. */
export function ownerOf(turn: string): string {
  return `${process.pid}@${hostname()} ${turn}`
}

/** Whether the process of an owner has ended for certain: its lease is of no use to anybody. */
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
