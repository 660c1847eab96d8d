// Process that adds turns to a session and prints the acknowledged ones. Arguments: FOLDER, the database file or an
// empty string, PREFIX.
import { writeSync } from 'node:fs'
import { openFile } from '@svc/plugin-database/testing'
import { SessionTranscripts } from '#transcripts'
import { openSessions } from './open-sessions.ts'

const [folder = '', file = '', prefix = ''] = process.argv.slice(2)
const store = file === '' ? null : await openFile(file, { busyTimeoutMs: 30_000, synchronous: 'normal' })
const sessions = openSessions({ folder, store })
const appender = new SessionTranscripts({
  sessions,
  store: async () => store,
  repositoryId: 'test',
  now: Date.now,
  wasReset: () => undefined
})
writeSync(1, 'ready\n')
for (let at = 0; ; at += 1) {
  // Long enough for a kill to leave an incomplete line.
  const content = `${prefix}${at} ${'x'.repeat((at * 997) % 20_000)}`
  await appender.append({ session_id: 'shared', role: 'user', content })
  writeSync(1, `${prefix}${at}\n`)
}
