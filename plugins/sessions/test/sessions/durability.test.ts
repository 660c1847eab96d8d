import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import { applyBaseline, openFile } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import '../../../database/test/built-worker.ts'
import { CHILD_ARGUMENTS } from '../../../../test/child-arguments.ts'
import { freshFolder, openSessions } from './open-sessions.ts'

const SCRIPT = join(import.meta.dirname, 'writer-child.ts')

interface Writer {
  readonly child: ChildProcess
  /** Acknowledged messages, in order. */
  readonly acknowledgedIds: string[]
}

async function startWriter(folder: string, file: string, prefix: string, turns: number): Promise<Writer> {
  const child = spawn(process.execPath, [...CHILD_ARGUMENTS, SCRIPT, folder, file, prefix], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const acknowledgedIds: string[] = []
  let rest = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', code => reject(new Error(`the writer ended with ${code}`)))
    child.stdout?.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      acknowledgedIds.push(...lines.filter(line => line !== 'ready'))
      if (acknowledgedIds.length >= turns) resolve()
    })
  })
  return { child, acknowledgedIds }
}

async function kill({ child }: Writer): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

async function checkHistory(t: Test, folder: string, store: DatabaseStore | null, writers: Writer[]): Promise<void> {
  const turns = await openSessions({ folder, store }).turns('shared')
  const contents = turns.map(({ content }) => content.slice(0, content.indexOf(' ')))
  for (const { acknowledgedIds } of writers) {
    const prefix = acknowledgedIds[0]?.[0] ?? '?'
    const own = contents.filter(name => name.startsWith(prefix))
    t.same(
      own.slice(0, acknowledgedIds.length),
      acknowledgedIds,
      `everything acknowledged to ${prefix} is present, in order`
    )
  }
  t.equal(new Set(contents).size, contents.length, 'nothing is duplicated')
  t.ok(
    turns.every(({ content }) => /^[ab]\d+ x*$/.test(content)),
    'every turn is complete'
  )
}

t.test('after writers were killed, the file contains all acknowledged turns', async t => {
  const folder = freshFolder()
  const writers = await Promise.all(['a', 'b'].map(prefix => startWriter(folder, '', prefix, 40)))
  await Promise.all(writers.map(kill))
  await checkHistory(t, folder, null, writers)
  const path = join(folder, 'shared.jsonl')
  appendFileSync(path, '{"id":"torn","at":1,"event":"turn_a')
  const sessions = openSessions({ folder })
  const before = (await sessions.turns('shared')).length
  const turn = { id: 'next', role: 'user', content: 'a0 after the crash', timestamp: 1, context_files: [] } as const
  await sessions.record('shared', () => [{ event: 'turn_added', turn }])
  t.equal(
    (await openSessions({ folder }).turns('shared')).length,
    before + 1,
    'the line after an incomplete one is complete'
  )
  truncateSync(path, readFileSync(path).length - 5)
  t.equal((await openSessions({ folder }).turns('shared')).length, before, 'only the last line is lost')
})

t.test('after writers were killed, both database tables contain all acknowledged turns', async t => {
  const folder = freshFolder()
  const file = join(folder, 'store.db')
  const options = { busyTimeoutMs: 30_000, synchronous: 'normal' } as const
  const first = await openFile(file, options)
  await applyBaseline(first)
  await first.close()
  const writers = await Promise.all(['a', 'b'].map(prefix => startWriter(folder, file, prefix, 40)))
  await Promise.all(writers.map(kill))
  const store = await openFile(file, options)
  await checkHistory(t, join(folder, 'other'), store, writers)
  await checkHistory(t, folder, store, writers)
  const { rows } = await store.query(`SELECT
    (SELECT count(*) FROM chat_transcripts), (SELECT count(*) FROM conversation_messages),
    (SELECT count(*) FROM agent_session_events WHERE event_type = 'turn_added')`)
  t.equal(new Set(rows[0]).size, 1, 'both tables have the same number of turns')
  await store.close()
})
