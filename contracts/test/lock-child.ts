// Takes the lock of a file again and again. Prints `overlap` if another process that lives holds it at the same time, and
// the number of locks taken until now. May be killed at any time.
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { withFileLock } from '@svc/contracts'

const path = process.argv[2] as string
const marker = `${path}.holder`
const busy = (): Error => new Error('no lock within 60 s')

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

function holder(): number | null {
  try {
    return Number(readFileSync(marker, 'utf8')) || null
  } catch {
    return null
  }
}

for (let taken = 1; ; taken++) {
  await withFileLock(
    path,
    async () => {
      const other = holder()
      if (other !== null && other !== process.pid && isAlive(other)) process.stdout.write(`overlap ${other}\n`)
      writeFileSync(marker, String(process.pid))
      await delay(taken % 3)
      if (holder() !== process.pid) process.stdout.write(`overlap ${holder()}\n`)
      unlinkSync(marker)
    },
    { waitMs: 60_000, busy }
  )
  process.stdout.write(`${taken}\n`)
}
