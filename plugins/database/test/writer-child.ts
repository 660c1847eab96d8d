// Writes rows and prints the acknowledged ones. Arguments: FILE, PREFIX, COUNT, the busy timeout in milliseconds.
import { writeSync } from 'node:fs'
import { isSvcError } from '@svc/plugin-sdk'
import { openFile } from '#store'

const [file = '', prefix = '', count = '0', busyTimeoutMs = '5000'] = process.argv.slice(2)
const store = await openFile(file, { busyTimeoutMs: Number(busyTimeoutMs), synchronous: 'normal' })
writeSync(1, 'ready\n')

const write = async (id: string): Promise<void> => {
  for (;;) {
    try {
      await store.execute('INSERT INTO items (name) VALUES (?)', [id])
      writeSync(1, `${id}\n`)
      return
    } catch (error) {
      if (!isSvcError(error, 'DBS_BUSY')) throw error
      writeSync(1, 'busy\n')
    }
  }
}

// Sequential writes have separate commits, and concurrent ones share a commit.
for (let at = 0; at < Number(count); at += 8) {
  await write(`${prefix}${at}`)
  await Promise.all(Array.from({ length: 7 }, (_, more) => write(`${prefix}${at + more + 1}`)))
}
await store.close()
