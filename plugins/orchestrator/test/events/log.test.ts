import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentEvent } from '@svc/contracts'
import t from 'tap'
import { EventLog } from '#events'

const folder = mkdtempSync(join(tmpdir(), 'event-log-'))
t.teardown(() => rm(folder, { recursive: true }))
let files = 0

function fresh() {
  const file = join(folder, String((files += 1)), 'deep', 'events.jsonl')
  const lines: string[] = []
  const line = (message: string, fields?: object): void => void lines.push(`${message} ${JSON.stringify(fields ?? {})}`)
  const open = (waiting?: number): EventLog =>
    new EventLog({
      file,
      log: { debug: line, info: line, warn: line, error: line },
      retryMs: 5,
      ...(waiting === undefined ? {} : { waiting })
    })
  return { file, lines, open }
}

const event = (id: number, text = ''): AgentEvent => ({
  id,
  timestamp_ms: 1,
  kind: { type: 'token_streamed', agent_id: 1, text }
})

const idsIn = (file: string): number[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line).id)

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at)

async function until(holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 120_000; !holds(); await sleep(2))
    if (performance.now() > end) throw new Error('the condition was not met in time')
}

t.test('writes each event as one line, in order, and creates the folders of the file', async t => {
  const { file, open } = fresh()
  const log = open()
  for (const id of range(1, 5_000)) log.write(event(id, 'line\nbreak "é" \ud800'))
  await log.close()
  t.same(idsIn(file), range(1, 5_000))
  t.equal(readFileSync(file, 'utf8').split('\n')[0], JSON.stringify(event(1, 'line\nbreak "é" \ud800')))
  const again = open()
  again.write(event(5_001))
  await again.close()
  again.write(event(5_002))
  t.same(idsIn(file), range(1, 5_001))
})

t.test('creates no file before the first event', async t => {
  const { file, open } = fresh()
  await open().close()
  t.notOk(existsSync(file))
})

t.test('starts a new file after a rename, deletion or truncation', async t => {
  const { file, open } = fresh()
  const log = open()
  const write = async (id: number): Promise<void> => {
    log.write(event(id))
    await until(() => existsSync(file) && idsIn(file).includes(id))
  }
  await write(1)
  renameSync(file, `${file}.1`)
  await write(2)
  t.same([idsIn(`${file}.1`), idsIn(file)], [[1], [2]])
  rmSync(file)
  await write(3)
  t.same(idsIn(file), [3])
  truncateSync(file)
  await write(4)
  t.same(idsIn(file), [4])
  await log.close()
})

t.test('starts a new line if the file ends within one', async t => {
  const { file, open } = fresh()
  const first = open()
  first.write(event(1))
  await first.close()
  appendFileSync(file, '{"id":')
  const log = open()
  log.write(event(2))
  await log.close()
  const lines = readFileSync(file, 'utf8').split('\n')
  t.same(lines.slice(1), ['{"id":', JSON.stringify(event(2)), ''])
})

t.test('reports an unwritable file once, and writes the waiting lines later', async t => {
  const { file, lines, open } = fresh()
  const parent = join(file, '..', '..')
  writeFileSync(parent, 'in the way')
  const log = open()
  for (const id of range(1, 10)) log.write(event(id))
  await until(() => lines.length > 0)
  log.write(event(11))
  await sleep(20)
  t.match(lines, [/events cannot be written to/])
  rmSync(parent)
  await until(() => lines.length === 2)
  await log.close()
  t.same(idsIn(file), range(1, 11))
  t.match(lines[1], /written to .* again/)
})

t.test('drops and counts the oldest waiting lines above the limit', async t => {
  const { file, lines, open } = fresh()
  const parent = join(file, '..', '..')
  writeFileSync(parent, 'in the way')
  const log = open(10)
  log.write(event(1))
  await until(() => lines.length > 0)
  for (const id of range(2, 31)) log.write(event(id))
  rmSync(parent)
  await until(() => lines.length === 2)
  await log.close()
  t.same(idsIn(file), [1, ...range(22, 31)])
  t.match(lines[1], /"dropped":20/)
})

t.test('close does not wait for a file that cannot be written', async t => {
  const { file, open } = fresh()
  writeFileSync(join(file, '..', '..'), 'in the way')
  const log = open()
  log.write(event(1))
  await log.close()
  t.notOk(existsSync(file))
})

t.test('two writers of the same file write only whole lines', async t => {
  const { file, open } = fresh()
  const logs = [open(), open()]
  for (const id of range(1, 2_000)) logs[id % 2]?.write(event(id, 'x'.repeat(200)))
  await Promise.all(logs.map(log => log.close()))
  t.same(
    idsIn(file).sort((a, b) => a - b),
    range(1, 2_000)
  )
})
